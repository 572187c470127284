"""Show the page in the output of a notebook cell, and make its answers available in Python."""

from __future__ import annotations

import atexit
import html
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkselect._messages import GuidedValueError, many, warn_user
from linkselect._samples import as_samples
from linkselect._samples.checks import index_of
from linkselect.asking import Answer, Contradiction, PairQueries
from linkselect.asking._answers import Said
from linkselect.labelling._labelling import PYTHON, Labelling
from linkselect.labelling._sample_curves import Curves, curves_in_folder, given_curves
from linkselect.labelling._sample_pictures import pictures_in_folder
from linkselect.labelling._session import Ask, begin, check_installed
from linkselect.labelling._shown_samples import ShownSamples
from linkselect.pairs import Pairs
from linkselect.pairs._ids import check_ids

if TYPE_CHECKING:
    from linkselect.labelling._serving import Server

# Pages of a local Jupyter server may embed the page; elsewhere, use the link.
FRAMED_BY = "'self' http://localhost:* http://127.0.0.1:*"
REPEAT = """from linkselect import LinkSelector

selector = LinkSelector().fit(X, pairs=queries.pairs{ids})"""


class OpenQueries(PairQueries):
    """A `PairQueries` object with an open page, which adds every answer to `pairs`.

    Attributes
    ----------
    address : str
        The address of the page, including its secret token.
    """

    address: str
    _server: Server
    _labelling: Labelling | None = None

    def answer(self, pair: Sequence[Hashable], answer: Said) -> Contradiction | None:
        """Record an answer as `PairQueries` does, and save it to `out`."""
        with self._writing():
            return super().answer(pair, answer)

    def change(self, pair: Sequence[Hashable], answer: Said | None) -> Contradiction | None:
        """Change an answer as `PairQueries` does, and save the change to `out`."""
        with self._writing():
            return super().change(pair, answer)

    def undo(self) -> Answer | None:
        """Undo the last answer as `PairQueries` does, and save the change to `out`."""
        with self._writing():
            return super().undo()

    def _writing(self) -> AbstractContextManager[None]:
        return nullcontext() if self._labelling is None else self._labelling.writing()

    def close(self) -> None:
        """Close the page. Its answers remain available; later answers are not saved to `out`."""
        atexit.unregister(self.close)
        self._server.close()
        if self._labelling is not None and self._labelling.trouble:
            warn_user(self._labelling.trouble)
        self._labelling = None

    def _repr_html_(self) -> str:
        counts = ", ".join(f"{number} {answer}" for answer, number in self.counts.items())
        return f"{_link(self.address)} ({counts})"


def open_page(
    X: Any,
    pairs: Pairs | None = None,
    sample_ids: Iterable[Hashable] | None = None,
    *,
    strategy: str = "grow",
    random_state: int | np.random.RandomState | None = None,
    out: str | PathLike[str] | None = None,
    feature_names: Sequence[str] | None = None,
    image_shape: tuple[int, int] | None = None,
    curve: bool = False,
    curves: str | PathLike[str] | Sequence[Any] | None = None,
    texts: Sequence[str] | None = None,
    images: str | PathLike[str] | None = None,
    show: Mapping[str, Sequence[Any]] | None = None,
    height: int = 900,
) -> OpenQueries:
    """Open a page below the current notebook cell that asks whether two samples are alike.

    A thread of this process serves the page, only on this machine, until `close` is called or the
    process ends. Outside a notebook, open `address` in a browser.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples, as a NumPy array, a SciPy sparse matrix, or a pandas or polars DataFrame.
    pairs : Pairs, optional
        Pairs that are already known.
    sample_ids : iterable of hashable, optional
        The ID of each row. Default: the index of X if it is a pandas object, otherwise row numbers.
    strategy : {"grow", "minmax", "random"}, default="grow"
        The strategy for choosing the next pair, as in `PairQueries`.
    random_state : int, RandomState instance or None, default=None
        Seed for the random choices.
    out : str or path, optional
        A CSV file of pairs. Every answer is saved immediately to a second file in the same folder;
        the CSV file is updated when the user pauses and at the end. An existing session is resumed.
        Default: answers are kept in memory only.
    feature_names : sequence of str, optional
        The name of each feature. Default: the column names of a DataFrame, otherwise x0, x1, ...
    image_shape : (int, int), optional
        The height and width of an image, if each feature is a pixel.
    curve : bool, default=False
        Whether the order of the features is meaningful, as in a spectrum or a time series.
    curves : str, path or sequence of array-like, optional
        Curves to show instead of the values: a folder of CSV or NPY files named after the sample
        IDs, or one array per sample (None for no curve). A curve has one column of values, or two
        columns with x and y.
    texts : sequence of str, optional
        One text per sample, which is shown instead of the values.
    images : str or path, optional
        A folder of pictures that are named after the sample IDs.
    show : dict of str to sequence, optional
        Additional columns to show below each sample.
    height : int, default=900
        The height of the page in the notebook, in pixels.

    Returns
    -------
    OpenQueries
        A `PairQueries` object that receives the answers from the page, with the attribute `address`
        and the method `close`.

    See Also
    --------
    linkselect.asking.PairQueries : Ask the same questions without a page.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from linkselect import labelling
    >>> queries = labelling.open_page(load_digits().data, image_shape=(8, 8), random_state=0)
    >>> queries.address.startswith("http://127.0.0.1:")
    True
    >>> queries.pairs
    Pairs(must=0, cannot=0)
    >>> queries.close()
    """
    check_installed()
    found = index_of(X) if sample_ids is None else sample_ids
    values = as_samples(X).rows_first
    n_samples, n_features = values.shape
    ids = check_ids(range(n_samples) if found is None else found, n_samples)
    samples = ShownSamples(
        values,
        ids,
        _names(X, feature_names, n_features),
        image_shape,
        curve,
        None if texts is None else _one_each(texts, n_samples, "texts", "text", "sample"),
        None if images is None else pictures_in_folder(Path(images), ids),
        {
            str(name): _one_each(column, n_samples, f"show[{name!r}]", "value", "sample")
            for name, column in (show or {}).items()
        },
        _curves(curves, ids),
    )
    ask = Ask(
        X,
        samples,
        None if found is None else ids,
        pairs,
        None if out is None else Path(out),
        strategy,
        random_state,
        source=f"{n_samples:,} samples, {n_features:,} features",
        repeat=REPEAT.format(ids="" if sample_ids is None else ", sample_ids=sample_ids"),
        kind=OpenQueries,
        place=PYTHON,
    )
    return _opened(ask, height)


def _opened(ask: Ask, height: int) -> OpenQueries:
    """Start the server and show the page."""
    from linkselect.labelling._serving import Server

    labelling, _ = begin(ask)
    server = Server(labelling, ask.source, framed_by=FRAMED_BY)
    server.start()
    queries = labelling.queries
    assert isinstance(queries, OpenQueries)
    queries.address, queries._server = server.address, server
    queries._labelling = labelling
    atexit.register(queries.close)
    _show(server.address, height)
    return queries


def _curves(given: Any, ids: Sequence[Hashable]) -> Curves | None:
    if isinstance(given, str | PathLike):
        return curves_in_folder(Path(given), ids)
    return None if given is None else given_curves(given, len(ids))


def _names(X: Any, given: Sequence[str] | None, n_features: int) -> list[str]:
    if given is not None:
        return _one_each(given, n_features, "feature_names", "name", "feature")
    columns = getattr(X, "columns", None)
    return [f"x{i}" for i in range(n_features)] if columns is None else list(map(str, columns))


def _one_each(given: Iterable[Any], number: int, parameter: str, what: str, of: str) -> list[str]:
    """Convert entries to text, and require one entry for each sample or feature."""
    texts = list(map(str, given))
    if len(texts) != number:
        raise GuidedValueError(
            f"{parameter} has {many(len(texts), what)}, but there are {many(number, of)}.",
            f"Pass one {what} per {of}, in the order of X.",
            parameter.partition("[")[0],
        )
    return texts


def _show(address: str, height: int) -> None:
    """Show the page below the cell if running in a notebook."""
    try:
        from IPython import get_ipython
        from IPython.display import HTML, display
    except ImportError:
        return
    if get_ipython() is None:
        return
    place = html.escape(address)
    frame = f'<iframe src="{place}" width="100%" height="{height:d}" frameborder="0"></iframe>'
    display(HTML(f"<p>{_link(address)}</p>{frame}"))


def _link(address: str) -> str:
    place = html.escape(address)
    return f'<a href="{place}" target="_blank" rel="noopener">Open in a new tab</a>'
