"""Reading of pairs from data frames, and storage in CSV and JSON files that preserve all ids."""

from __future__ import annotations

import csv
import io
import json
import re
from array import array
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache, partial
from itertools import chain, repeat
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkselect._files import written_whole
from linkselect._messages import GuidedTypeError, GuidedValueError, shown
from linkselect.pairs._conflicts import Pair
from linkselect.pairs._ids import numbering, plain_id, renamed
from linkselect.pairs._links import checked

if TYPE_CHECKING:
    from linkselect.pairs._pairs import Pairs

IdType = Callable[[str], Hashable]
Links = Sequence[Pair]
# Lists of pairs and of weights by the names below.
Listed = dict[str, Any]
LINKS, WEIGHTS = ("must", "cannot", "adaptive"), ("must_weights", "cannot_weights")

# Spellings such as must-link, must_link, must link and must-linked.
SPELLED = re.compile(r"^(must|cannot)[-_ ]?link(?:ed)?$")

NAME_OTHERWISE_IN_CSV = (
    "Use only whole numbers or only text without surrounding spaces as ids, or use to_json. "
    "For text that looks like numbers, pass id_type=str to to_csv and from_csv."
)
NAME_OTHERWISE_IN_JSON = "Use text as ids."


def read_frame(frame: Any) -> tuple[Any, ...]:
    """Read pairs from a frame; see `Pairs.from_frame`."""
    columns = list(getattr(frame, "columns", ()))
    missing = [name for name in ("a", "b", "link") if name not in columns]
    if missing:
        what = (
            f"this one has {', '.join(map(str, columns))}"
            if columns
            else f"this is a {type(frame).__name__}"
        )
        raise GuidedValueError(
            f"A frame of pairs must have the columns a, b and link, but {what}.",
            'Rename the columns: frame.rename(columns={"first": "a", "second": "b"}). For tuples, '
            "write Pairs(must=[(0, 3)], cannot=[(0, 60)]).",
            "frame",
        )
    found = Gathered()
    drawn = frame["drawn"] if "drawn" in columns else repeat("random", len(frame))
    weights = frame["weight"] if "weight" in columns else repeat(1.0, len(frame))
    lines = zip(frame["a"], frame["b"], frame["link"], drawn, weights, strict=True)
    for place, (a, b, link, how, weight) in enumerate(lines):
        kind = found.kind_of(str(link))
        if kind not in ("must", "cannot"):
            raise GuidedValueError(
                f"Row {place} of the frame has link={link!r} for the pair {a!r}, {b!r}.",
                f"The column link must contain must or cannot.{_as_words(link)}",
                "frame",
            )
        found.add(f"Row {place} of the frame", kind, (plain_id(a), plain_id(b)), how, weight)
    return checked(*found.parts())


class Gathered:
    """Collection of pairs that are added one by one and stored as numbers to save memory."""

    def __init__(self) -> None:
        self.codes = numbering()
        self.links = {name: array("q") for name in LINKS}
        self.weights = {kind: array("d") for kind in LINKS[:2]}
        # Cached, because a few distinct words occur many times.
        self.kind_of = cache(_kind_of)
        self.word = cache(_word)

    def add(self, where: str, kind: str, pair: Pair, how: Any, weight: Any) -> None:
        """Add a pair; `how` is its value in the column `drawn`."""
        try:
            self.weights[kind].append(float(weight))
        except (TypeError, ValueError):
            raise GuidedValueError(
                f"{where} has weight={weight!r} for the pair {pair[0]!r}, {pair[1]!r}.",
                "The column 'weight' must contain positive numbers.",
            ) from None
        word = self.word(str(how))
        if word not in ("random", "adaptive"):
            raise GuidedValueError(
                f"{where} has drawn={how!r} for the pair {pair[0]!r}, {pair[1]!r}.",
                'The column drawn must contain "random", or "adaptive" for pairs that were chosen '
                "by looking at the samples.",
            )
        try:
            ends = [self.codes[sample] for sample in pair]
        except TypeError:
            raise TypeError(
                f"{where} has the pair {pair!r}, but ids must be hashable, such as numbers or text."
            ) from None
        self.links[kind].extend(ends)
        if word == "adaptive":
            self.links["adaptive"].extend(ends)

    def parts(self, id_type: IdType | None = None) -> tuple[Any, ...]:
        """Return the ids, links and weights, with ids converted by `id_type`."""
        links = [np.array(ends, dtype=np.intp).reshape(-1, 2) for ends in self.links.values()]
        weights = [np.array(own) for own in self.weights.values()]
        if id_type is None:
            return tuple(self.codes), links, weights
        ids, became = renamed(self.codes, id_type)
        return ids, [became[some] for some in links], weights


def _word(value: Any) -> str:
    return str(value).strip().lower()


def _kind_of(link: Any) -> str:
    """Return `must` or `cannot` for spellings such as Must-Link; other text in lower case."""
    return SPELLED.sub(r"\1", _word(link))


def _as_words(link: Any) -> str:
    """Return a hint on how to replace ambiguous numbers or Booleans with words."""
    if isinstance(link, bool):
        words = "{True: 'must', False: 'cannot'}"
    elif link in (1, 0, -1):
        words = f"{{1: 'must', {0 if link == 0 else -1}: 'cannot'}}"
    else:
        return ""
    return f' If the values have this meaning, write: frame["link"] = frame["link"].map({words}).'


def read_csv(path: str | PathLike[str], id_type: IdType | None) -> tuple[Any, ...]:
    """Read pairs from a CSV file; see `Pairs.from_csv`."""
    with Path(path).open(newline="", encoding="utf-8-sig") as file:
        found = _read_lines(file, str(path))
    return checked(*found.parts(id_type or _guess_id_type(found.codes)))


def write_csv(path: str | PathLike[str], pairs: Pairs, id_type: IdType | None) -> None:
    """Write a CSV file; see `Pairs.to_csv`."""
    check_csv_ids(pairs.ids, id_type)
    content = csv_content(pairs)
    with written_whole(path) as part:
        part.write_bytes(content)


def check_csv_ids(ids: Sequence[Hashable], id_type: IdType | None) -> None:
    """Raise an error if ids would change when they are written to a CSV file and read again."""
    _check_given_back(ids, partial(_through_csv, id_type), "CSV", NAME_OTHERWISE_IN_CSV)


def csv_content(pairs: Pairs) -> bytes:
    """Return the content of a CSV file of pairs."""
    weights = _weights_of(pairs)
    return _csv_text(pairs.must, pairs.cannot, pairs.adaptive, weights).encode("utf-8")


def _weights_of(pairs: Pairs) -> Listed:
    """Return the weights if any differs from 1, otherwise an empty dictionary."""
    found: Listed = {name: getattr(pairs, name) for name in WEIGHTS}
    return found if set(chain(*found.values())) - {1.0} else {}


def read_json(path: str | PathLike[str]) -> Listed:
    """Read pairs from a JSON file; see `Pairs.from_json`."""
    with Path(path).open(encoding="utf-8") as file:
        content = json.load(file)
    if not isinstance(content, dict) or not content.keys() <= {*LINKS, *WEIGHTS}:
        raise ValueError(
            f'{path}: expected {{"must": [[a, b], ...], "cannot": [[a, b], ...]}}, '
            f"got {str(content)[:60]}."
        )
    # `Pairs` checks that each entry has two samples.
    found = {name: some for name, some in content.items() if name in LINKS}
    links = {kind: [tuple(map(_tuples, pair)) for pair in some] for kind, some in found.items()}
    return content | links


def write_json(path: str | PathLike[str], pairs: Pairs) -> None:
    """Write a JSON file; see `Pairs.to_json`."""
    _check_given_back(pairs.ids, _through_json, "JSON", NAME_OTHERWISE_IN_JSON)
    links = {"must": pairs.must, "cannot": pairs.cannot} | _weights_of(pairs)
    content = json.dumps(links | ({"adaptive": pairs.adaptive} if pairs.n_adaptive else {}))
    with written_whole(path) as part:
        part.write_text(content, encoding="utf-8")


# -- CSV ---------------------------------------------------------------------------------------


def _read_lines(lines: Iterable[str], name: str) -> Gathered:
    """Read pairs from a CSV file. Ids are read as text, with surrounding spaces removed."""
    lines = iter(lines)
    header = next(lines, "")
    reader = csv.reader(chain([header], lines), delimiter=_separator(header), skipinitialspace=True)
    found = Gathered()
    try:
        names = next(reader, [])
        place = {column: at for at, column in enumerate(names)}
        if not {"a", "b", "link"} <= place.keys():
            raise ValueError(
                f"{name} begins with the line {shown(header.strip())}, but a file of pairs must "
                "begin with the header a,b,link."
            )
        needed = place["a"], place["b"], place["link"]
        for cells in filter(None, reader):
            row = cells + [""] * (len(names) - len(cells))
            a, b, link = (row[at].strip() for at in needed)
            kind = found.kind_of(link)
            line = f"{name}, line {reader.line_num}"
            if kind not in ("must", "cannot") or not a or not b or len(row) > len(names):
                raise ValueError(
                    f"{line}: {','.join(row[at] for at in needed)} is not a pair. "
                    "Each line must contain two ids, followed by must or cannot, and nothing else."
                )
            how = row[place["drawn"]] if "drawn" in place else "random"
            weight = row[place["weight"]] if "weight" in place else 1.0
            found.add(line, kind, (a, b), how, weight)
    except csv.Error as error:
        raise ValueError(f"{name}, line {reader.line_num}: {error}.") from error
    return found


def _separator(header: str) -> str:
    """Return the separator of the header; spreadsheets in many languages use semicolons."""
    return next((sign for sign in ";\t" if sign in header and "," not in header), ",")


def _csv_text(must: Links, cannot: Links, adaptive: Links, weights: Listed) -> str:
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(["a", "b", "link", *["drawn"] * bool(adaptive), *["weight"] * bool(weights)])
    chosen = set(adaptive)
    for kind, links in (("must", must), ("cannot", cannot)):
        own = weights.get(f"{kind}_weights", repeat(1.0, len(links)))
        for pair, weight in zip(links, own, strict=True):
            drawn = ["adaptive" if pair in chosen else "random"] * bool(adaptive)
            writer.writerow([*map(str, pair), kind, *drawn, *[weight] * bool(weights)])
    return file.getvalue()


def _through_csv(id_type: IdType | None, ids: Sequence[Hashable]) -> list[Hashable]:
    """Return the ids that `read_csv` reads from a file written by `write_csv`."""
    content = _csv_text([(sample, sample) for sample in ids], (), (), {}).encode("utf-8")
    found = _read_lines(io.StringIO(content.decode("utf-8-sig"), newline=""), "the file")
    back, (must, *_), _ = found.parts(id_type or _guess_id_type(found.codes))
    return [back[code] for code in must[:, 0].tolist()]


def _guess_id_type(texts: Iterable[Any]) -> IdType:
    return int if all(map(_is_number, texts)) else str


def _is_number(text: str) -> bool:
    # "007" is text and not the number 7, so the text must equal that of the number.
    try:
        return str(int(text)) == text
    except ValueError:
        return False


# -- JSON --------------------------------------------------------------------------------------


def _through_json(ids: Sequence[Hashable]) -> list[Any]:
    """Return the ids that `read_json` reads from a file written by `write_json`."""
    # Python can read infinity and NaN from JSON, but other programs cannot.
    return [_tuples(value) for value in json.loads(json.dumps(ids, allow_nan=False))]


def _tuples(value: Any) -> Any:
    """Convert lists to tuples, because JSON stores tuples as lists."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


# -- ids that a format cannot represent ----------------------------------------------------------


def _check_given_back(
    ids: Sequence[Hashable],
    through: Callable[[Sequence[Hashable]], list[Any]],
    format_name: str,
    hint: str,
) -> None:
    """Raise an error if `through`, which writes and reads ids, changes any id."""
    try:
        back = through(ids)
    except Exception:
        # Try each id separately to find the one that fails.
        for sample in ids:
            try:
                through([sample])
            except Exception as error:
                raise GuidedTypeError(
                    f"The id {shown(sample)} cannot be written as {format_name}: "
                    f"{str(error)[:100].rstrip('.')}.",
                    hint,
                ) from error
        raise
    for sample, found in zip(ids, back, strict=True):
        if not _same(sample, found):
            raise GuidedTypeError(
                f"The id {shown(sample)} would be read from {format_name} as {shown(found)}.",
                hint,
            )


def _same(a: Any, b: Any) -> bool:
    """Return whether two ids are equal and have the same type; 1, 1.0 and True differ in type."""
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(a == b)
