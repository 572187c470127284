"""Centre features inside batches."""

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
    """Subtract from each feature its mean inside the batch of the row.

    What shifts all samples of a plate, a run or a site alike is gone afterwards, and so is every
    difference between batches. Where classes are spread unevenly over batches, a part of their
    difference goes with it; where each batch holds one class, all of it. Labels are not looked at,
    so that centring before a cross-validation does not leak them.

    Samples of one batch sum to zero afterwards and are therefore a little farther apart than those
    of two batches, the more so the smaller the batch. Cannot-links inside batches beside must-links
    across them look right on noise for that reason alone. So pass `batches=` to `validate` and
    `feature_p_values` also after centring: rows are then compared with rows of their batch.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        The samples; it stays as it is. Missing values stay missing and do not count.
    batches : array-like of shape (n_samples,)
        The batch of each row.

    Returns
    -------
    array or frame of shape (n_samples, n_features)
        Floats, dense also if X is sparse; a frame of pandas or polars keeps its index and its
        columns. A feature that is constant in a batch is exactly 0 there.

    See Also
    --------
    linkselect.evaluation.validate : `batches=` exchanges samples inside batches only.

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
            f"{many(n_alone, 'sample')} alone in a batch: centred, all features are 0 there.",
            hint="Leave such samples out, or put them into other batches.",
        )
    found = np.empty_like(values)
    with explained_overflow():
        for code in range(batch.max() + 1):
            rows = np.flatnonzero(batch == code)
            block = values[rows].astype(np.float64)
            known = ~np.isnan(block)
            # First the smallest value: what is constant becomes 0 exactly, and large offsets go.
            block -= np.min(block, axis=0, where=known, initial=np.inf)
            block -= np.sum(block, axis=0, where=known) / np.maximum(known.sum(axis=0), 1)
            found[rows] = block
    # By the name of its module: asking the adapters themselves would import pandas and polars.
    adapter = ADAPTERS_MANAGER.adapters.get(type(X).__module__.split(".")[0])
    if adapter is None:
        return found
    return adapter.create_container(found, X, columns=X.columns, inplace=False)
