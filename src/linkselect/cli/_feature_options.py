"""Options for individual features: keep, exclude or group them, and treat copies of them."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from linkselect._messages import first_few
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
        Features that are always selected and ranked first, separated by commas. These features
        count towards --n-features, and searches start from them. Repeat the option for each name
        that contains a comma.
    exclude
        Features that are never selected and do not influence other features, but remain in the
        ranking.
    groups
        Groups of features that are selected together or not at all. Pass patterns separated by
        commas, such as `temp_*,press_*`, a CSV file with the columns feature and group, or a JSON
        file that lists the features of each group. The columns that --encode derives from one
        column also form a group.
    copies
        The treatment of exact and near-exact copies, which have an absolute correlation of at least
        0.999: `one` selects only the best of them, and `all` ranks each separately.
    """

    keep: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    groups: str | None = None
    copies: Literal["one", "all"] = "one"

    def check(self, by_parts: bool) -> None:
        """Raise an error if a table that is read in parts does not support the options."""
        if by_parts and (self.keep or self.exclude or self.groups):
            raise UsageError(
                "--keep, --exclude and --groups require the table in memory, but it is read in "
                "parts. Leave columns out with --drop, or allow more memory with --max-memory."
            )

    def around(self, selector: Any, data: Table) -> Any:
        """Wrap a selector in `FeatureRules` if there are any rules."""
        from linkselect import FeatureRules

        names = data.names
        groups = [*self._groups(names), *_encoded(data)]
        if not (self.keep or self.exclude or groups):
            return selector
        keep = _places(self.keep, names, "--keep")
        exclude = _places(self.exclude, names, "--exclude")
        if both := set(keep) & set(exclude):
            raise UsageError(f"{shown(names[min(both)])} is in both --keep and --exclude.")
        return FeatureRules(
            selector,
            keep=keep or None,
            exclude=exclude or None,
            groups=groups or None,
            copies=self.copies,
        )

    def _groups(self, names: tuple[str, ...]) -> list[list[int]]:
        """Return the column indices of the features in each group."""
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
    """Return the column indices of features that are given by comma-separated names."""
    place = {name: at for at, name in enumerate(names)}
    found = []
    for text in texts:
        # A text with commas may be a single name.
        for name in [text] if text in place else filter(None, map(str.strip, text.split(","))):
            if name not in place:
                raise UsageError(
                    f"{option}: there is no feature {shown(name)}. {nearest(name, names)}"
                )
            found.append(place[name])
    return found


def _encoded(data: Table) -> list[list[int]]:
    """Return the groups of columns that --encode derived from one column."""
    place = {name: at for at, name in enumerate(data.names)}
    groups = [[place[name] for name in some if name in place] for some in data.encoded]
    return [some for some in groups if len(some) > 1]


def _read_groups(path: Path) -> list[list[str]]:
    """Read the feature names of each group from a file."""
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
    """Return whether a fitted selector has selected both a feature and a copy of it."""
    from linkselect._samples import as_samples
    from linkselect._search.correlations import copies_of

    selected = np.flatnonzero(np.asarray(selector.get_support()))
    chosen = set(selected.tolist())
    return any(copy in chosen for _, copy in copies_of(as_samples(X), selected))


def about_copies(reasons: list[str], features: list[str]) -> list[str]:
    """Return a note on copies of selected features that were not selected."""
    named = [
        f"{shown(feature)} (copy of {shown(reason.removeprefix('copy of '))})"
        for feature, reason in zip(features, reasons, strict=True)
        if reason.startswith("copy of ")
    ]
    note = (
        f"Left out as copies of selected features: {first_few(named, 3)}. --copies all ranks them."
    )
    return [note] if named else []
