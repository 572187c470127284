"""What a person says about the features of a table: which to keep, exclude and treat as one."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from linkselect.cli._errors import InputError, UsageError, nearest, shown

if TYPE_CHECKING:
    from linkselect.cli._tables import Table

_FORM = 'CSV with the columns feature and group, or JSON such as {"weather": ["temp", "press"]}'


@dataclass(frozen=True)
class FeatureOptions:
    """Rules for single features.

    Parameters
    ----------
    keep
        Features that are selected in any case and come first, with commas between them. They count
        in --n-features; a search goes on from them. Give it again for a name with a comma.
    exclude
        Features that are never selected and have no influence, but stay in the list of all.
    groups
        Features that are selected together or not at all: patterns with commas between them, such
        as "temp_*,press_*", or a file: CSV with the columns feature and group, or JSON that lists
        the features of each group. The columns that --encode makes of one column are a group.
    copies
        What to do with exact and near copies (correlation of at least 0.999): `one` selects the
        best of them and lists the others with it; `all` ranks each by itself.
    """

    keep: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    groups: str | None = None
    copies: Literal["one", "all"] = "one"

    def check(self, by_parts: bool) -> None:
        """Refuse what cannot be done, before any work."""
        if by_parts and (self.keep or self.exclude or self.groups):
            raise UsageError(
                "--keep, --exclude and --groups need the table in memory, but it is read by parts. "
                "Leave columns out with --drop, or allow more memory with --max-memory."
            )

    def around(self, selector: Any, data: Table) -> Any:
        """Put the rules around a selector, if there are any."""
        from linkselect import FeatureRules

        names = data.names
        groups = [*self._groups(names), *_encoded(data)]
        if not (self.keep or self.exclude or groups):
            return selector
        keep = _places(self.keep, names, "--keep")
        exclude = _places(self.exclude, names, "--exclude")
        if both := set(keep) & set(exclude):
            raise UsageError(f"{shown(names[min(both)])} is both kept and excluded.")
        return FeatureRules(
            selector,
            keep=keep or None,
            exclude=exclude or None,
            groups=groups or None,
            copies=self.copies,
        )

    def _groups(self, names: tuple[str, ...]) -> list[list[int]]:
        """Return the features of each group."""
        if self.groups is None:
            return []
        path = Path(self.groups)
        if path.suffix.lower() in (".csv", ".json"):
            listed = _read_groups(path)
            return [_places(tuple(some), names, f"--groups {path.name}") for some in listed]
        found = []
        for pattern in filter(None, map(str.strip, self.groups.split(","))):
            some = [place for place, name in enumerate(names) if fnmatchcase(name, pattern)]
            if not some:
                raise UsageError(
                    f"--groups: no feature matches {shown(pattern)}. {nearest(pattern, names)}"
                )
            found.append(some)
        return found


DEFAULT_FEATURES = FeatureOptions()


def _places(texts: tuple[str, ...], names: tuple[str, ...], option: str) -> list[int]:
    """Find the features that names, with commas between them, name."""
    place = {name: at for at, name in enumerate(names)}
    found = []
    for text in texts:
        # Names with commas between them, unless the whole is a name.
        for name in [text] if text in place else filter(None, map(str.strip, text.split(","))):
            if name not in place:
                raise UsageError(
                    f"{option}: there is no feature {shown(name)}. {nearest(name, names)}"
                )
            found.append(place[name])
    return found


def _encoded(data: Table) -> list[list[int]]:
    """Return the columns that --encode made of one column each."""
    place = {name: at for at, name in enumerate(data.names)}
    groups = [[place[name] for name in some if name in place] for some in data.encoded]
    return [some for some in groups if len(some) > 1]


def _read_groups(path: Path) -> list[list[str]]:
    """Read the features of each group from a file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".json":
            groups = {str(name): list(map(str, some)) for name, some in json.loads(text).items()}
        else:
            groups = {}
            for line in csv.DictReader(text.splitlines()):
                groups.setdefault(line["group"], []).append(line["feature"])
    except OSError as error:
        raise InputError(f"--groups {path.name}: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, AttributeError, csv.Error, RecursionError) as error:
        raise InputError(f"--groups {path.name} does not have the form {_FORM}.") from error
    return [some for some in groups.values() if some]


def has_copies(selector: Any, X: Any) -> bool:
    """Tell whether a fitted selector has selected two copies of one feature."""
    from linkselect._samples import as_samples
    from linkselect._search.correlations import copies_of

    selected = np.flatnonzero(np.asarray(selector.get_support()))
    chosen = set(selected.tolist())
    return any(copy in chosen for _, copy in copies_of(as_samples(X), selected))


def about_copies(reasons: list[str], features: list[str]) -> list[str]:
    """Say which copies of selected features were left out."""
    pairs = [
        (feature, reason.removeprefix("copy of "))
        for feature, reason in zip(features, reasons, strict=True)
        if reason.startswith("copy of ")
    ]
    if not pairs:
        return []
    named = ", ".join(f"{shown(feature)} (of {shown(other)})" for feature, other in pairs[:3])
    more = f", and {len(pairs) - 3:,} more" if len(pairs) > 3 else ""
    what = "copy of a selected feature is" if len(pairs) == 1 else "copies of selected features are"
    return [f"{len(pairs):,} {what} left out: {named}{more}. --copies all ranks each by itself."]
