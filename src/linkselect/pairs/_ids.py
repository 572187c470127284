"""The ids by which pairs name samples."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from linkselect._arrays import IntArray
from linkselect._messages import GuidedValueError


def plain_id(sample: Any) -> Any:
    """Turn a NumPy scalar into the Python value that it equals, so that ids can be written."""
    return sample.item() if isinstance(sample, np.generic) else sample


def numbering() -> defaultdict[Any, int]:
    """Return a dictionary that gives each new key the next number, from 0."""
    codes: defaultdict[Any, int] = defaultdict()
    codes.default_factory = codes.__len__
    return codes


def renamed(
    ids: Iterable[Any], name: Callable[[Any], Hashable]
) -> tuple[tuple[Hashable, ...], IntArray]:
    """Name samples otherwise; return each new id once, and which of them each old one became."""
    codes = numbering()
    became = np.fromiter(map(codes.__getitem__, map(name, ids)), dtype=np.intp)
    return tuple(codes), became


def check_ids(sample_ids: Iterable[Hashable], n_samples: int) -> tuple[Hashable, ...]:
    """Return the ids as a tuple, one for each of `n_samples`, none of them twice."""
    try:
        ids = tuple(plain_id(sample) for sample in sample_ids)
        distinct = len(set(ids))
    except TypeError:
        raise TypeError(
            f"sample_ids must be one hashable id per row, such as numbers or text, "
            f"got {type(sample_ids).__name__} {str(sample_ids)[:40]}."
        ) from None
    if len(ids) != n_samples:
        raise GuidedValueError(
            f"sample_ids has {len(ids)} entries, but there are {n_samples} samples.",
            "Pass one id per row.",
        )
    if distinct < n_samples:
        repeated = Counter(ids).most_common(1)[0][0]
        raise GuidedValueError(
            f"The id {repeated!r} names more than one row, so a pair cannot tell which one it "
            "means.",
            "Make ids unique (a pandas frame: reset_index(drop=True); AnnData: "
            "adata.obs_names_make_unique()).",
        )
    return ids


def check_row_numbers(ids: Iterable[Any], n_samples: Any) -> None:
    """Refuse ids that do not number the rows of `n_samples` samples, if that is given."""
    if n_samples is None:
        return
    if not isinstance(n_samples, int | np.integer) or n_samples < 1:
        raise ValueError(f"n_samples={n_samples!r}, but it is the number of rows: 1 or more.")
    for sample in ids:
        if not isinstance(sample, int | np.integer) or not 0 <= sample < n_samples:
            raise GuidedValueError(
                f"A pair names {sample!r}, but with n_samples={n_samples} samples are named by "
                f"row numbers from 0 to {n_samples - 1}.",
                "Leave n_samples out to use ids.",
            )


def spelt_otherwise(
    absent: Sequence[Hashable], present: Iterable[Hashable]
) -> dict[Hashable, Hashable]:
    """Return the absent ids that are present under another type or spelling, and which."""
    wanted = {_spelling(sample) for sample in absent}
    if not any(isinstance(sample, str) for sample in absent):
        # Whole numbers have one spelling, so that only text can stand for them.
        present = (sample for sample in present if isinstance(sample, str))
    found = {key: sample for sample in present if (key := _spelling(sample)) in wanted}
    return {sample: found[key] for sample in absent if (key := _spelling(sample)) in found}


def _spelling(sample: Hashable) -> str:
    """Write an id so that 7, "7", "007", "7.0" and " 7" are the same, and so are "S1" and "s1"."""
    text = str(sample).strip().casefold().removesuffix(".0")
    return text.lstrip("0") or "0" if text.isdecimal() else text
