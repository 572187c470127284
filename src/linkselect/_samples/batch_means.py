"""Centre features within batches."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array
from sklearn.utils._set_output import ADAPTERS_MANAGER

from linkselect._batches import row_codes
from linkselect._messages import many, warn_user
from linkselect._samples.checks import explained_overflow, refuse_stored, without_mask
from linkselect._samples.sources.annotated import unwrapped


def center_batches(X: Any, batches: Any) -> Any:
    """Subtract from each feature its mean within each batch.

    This removes any shift that all samples of a plate, run or site share, and thus all differences
    between batch means. If classes are unevenly distributed over batches, part of the difference
    between classes is removed too; if each batch has a single class, all of it. Labels are not
    used, so centring before cross-validation does not leak them.

    After centring, the samples of a batch sum to zero. They are therefore slightly farther apart
    than samples of different batches, especially in small batches. For this reason alone,
    cannot-links within batches and must-links across batches appear satisfied even in pure noise.
    So pass `batches=` to `validate` and `feature_p_values` after centring, too: rows are then
    compared only with rows of their batch.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        The samples; X is not modified. Missing values are ignored and stay missing.
    batches : array-like of shape (n_samples,)
        The batch of each row.

    Returns
    -------
    array or frame of shape (n_samples, n_features)
        The centred values as floats; the result is dense even if X is sparse. A frame of pandas or
        polars keeps its index and columns. Features that are constant in a batch become exactly 0
        there.

    See Also
    --------
    linkselect.evaluation.validate : `batches=` permutes samples within batches only.

    Examples
    --------
    >>> from linkselect import center_batches
    >>> center_batches([[1, 5], [3, 5], [10, 0], [14, 2]], ["a", "a", "b", "b"])
    array([[-1.,  0.],
           [ 1.,  0.],
           [-2., -1.],
           [ 2.,  1.]])
    """
    refuse_stored("center_batches", X)
    X = unwrapped(X)
    values = check_array(
        without_mask(X.toarray() if issparse(X) else X),
        dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan",
        input_name="X",
    )
    batch = row_codes(batches, len(values), "batches")
    n_alone = int(np.count_nonzero(np.bincount(batch) == 1))
    if n_alone:
        warn_user(
            f"{many(n_alone, 'batch')} {'has' if n_alone == 1 else 'have'} only one sample, whose "
            "features all become 0.",
            hint="Leave out such samples, or merge their batches with others.",
        )
    found = np.empty_like(values)
    with explained_overflow():
        for code in range(batch.max() + 1):
            rows = np.flatnonzero(batch == code)
            block = values[rows].astype(np.float64)
            known = ~np.isnan(block)
            # Subtracting the minimum first makes constant features exactly 0 and removes large
            # offsets, which would cost digits.
            block -= np.min(block, axis=0, where=known, initial=np.inf)
            block -= np.sum(block, axis=0, where=known) / np.maximum(known.sum(axis=0), 1)
            found[rows] = block
    # Found by module name, because the adapters themselves would import pandas and polars.
    adapter = ADAPTERS_MANAGER.adapters.get(type(X).__module__.split(".")[0])
    if adapter is None:
        return found
    return adapter.create_container(found, X, columns=X.columns, inplace=False)
