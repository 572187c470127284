"""Checks and conversion of sample ids."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from linkselect._arrays import IntArray
from linkselect._messages import GuidedValueError, many


def plain_id(sample: Any) -> Any:
    """Convert a NumPy scalar to a Python value, so that sample ids can be written to files."""
    return sample.item() if isinstance(sample, np.generic) else sample


def numbering() -> defaultdict[Any, int]:
    """Return a dictionary that numbers new keys consecutively from 0."""
    codes: defaultdict[Any, int] = defaultdict()
    codes.default_factory = codes.__len__
    return codes


def renamed(
    ids: Iterable[Any], name: Callable[[Any], Hashable]
) -> tuple[tuple[Hashable, ...], IntArray]:
    """Return the distinct new ids of renamed samples, and each sample's position among them."""
    codes = numbering()
    became = np.fromiter(map(codes.__getitem__, map(name, ids)), dtype=np.intp)
    return tuple(codes), became


def check_ids(sample_ids: Iterable[Hashable], n_samples: int) -> tuple[Hashable, ...]:
    """Return the ids as a tuple; raise an error unless there is one distinct id per sample."""
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
            f"sample_ids has {many(len(ids), 'id')} for {many(n_samples, 'sample')}.",
            "Pass one id per row.",
        )
    if distinct < n_samples:
        repeated = Counter(ids).most_common(1)[0][0]
        raise GuidedValueError(
            f"Duplicate sample id {repeated!r}: pairs cannot distinguish between these rows.",
            "Make the ids unique (pandas: frame.reset_index(drop=True); AnnData: "
            "adata.obs_names_make_unique()).",
        )
    return ids


def check_row_numbers(ids: Iterable[Any], n_samples: Any) -> None:
    """Raise an error if `n_samples` is given and any id is not a row number below it."""
    if n_samples is None:
        return
    if not isinstance(n_samples, int | np.integer) or n_samples < 1:
        raise ValueError(f"n_samples={n_samples!r}, but it must be the number of rows, at least 1.")
    for sample in ids:
        if not isinstance(sample, int | np.integer) or not 0 <= sample < n_samples:
            raise GuidedValueError(
                f"A pair contains {sample!r}, but with n_samples={n_samples}, samples must be row "
                f"numbers from 0 to {n_samples - 1}.",
                "Omit n_samples to use other ids.",
            )


def spelt_otherwise(
    absent: Sequence[Hashable], present: Iterable[Hashable]
) -> dict[Hashable, Hashable]:
    """Map absent ids to present ids that differ only in type or spelling."""
    wanted = {_spelling(sample) for sample in absent}
    if not any(isinstance(sample, str) for sample in absent):
        # Whole numbers have one spelling, so only text can be another spelling of them.
        present = (sample for sample in present if isinstance(sample, str))
    found = {key: sample for sample in present if (key := _spelling(sample)) in wanted}
    return {sample: found[key] for sample in absent if (key := _spelling(sample)) in found}


def _spelling(sample: Hashable) -> str:
    """Normalise an id: 7, "7", "007", "7.0" and " 7" become equal, and so do "S1" and "s1"."""
    text = str(sample).strip().casefold().removesuffix(".0")
    return text.lstrip("0") or "0" if text.isdecimal() else text
