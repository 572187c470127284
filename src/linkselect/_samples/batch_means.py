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

    This removes any shift shared by all samples of a plate, run or site, so the batch means become
    equal. If classes are unevenly distributed over batches, centring also removes part of the
    difference between classes. If each batch contains a single class, centring removes the entire
    difference. Labels are not used, so centring before cross-validation does not leak label
    information.

    After centring, the samples of a batch sum to zero. Samples of the same batch are therefore
    slightly farther apart than samples of different batches, especially if batches are small. As a
    result, cannot-links within batches and must-links across batches appear to be satisfied even in
    pure noise. Therefore, pass `batches=` to `validate` and `feature_p_values` even after centring,
    so that rows are compared only with rows of the same batch.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        The samples; X is not modified. Missing values are ignored and stay missing.
    batches : array-like of shape (n_samples,)
        The batch of each row.

    Returns
    -------
    array or frame of shape (n_samples, n_features)
        The centred values as floats; the result is dense even if X is sparse. A pandas or polars
        data frame keeps its index and columns. Features that are constant within a batch become
        exactly 0 in that batch.

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
            f"{many(n_alone, 'batch')} {'has' if n_alone == 1 else 'have'} only one sample, so all "
            "features of this sample become 0.",
            hint="Remove these samples, or merge their batches with other batches.",
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
