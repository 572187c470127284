"""`linkselect demo`: select pixels of handwritten digits from 20 pairs."""

from __future__ import annotations

import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkselect.cli._errors import UsageError
from linkselect.cli._output import PAGE_FILES, check_target, write_page
from linkselect.cli._terminal import QUIET, line_width, tracked

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.table import Table

SIDE = 8
N_PIXELS = SIDE * SIDE
N_EACH = 10
CHOSEN = "LinkSelector"
WITHOUT = "LinkSelector, no pairs"


def demo(*, n_features: int = 10, draws: int = 10, report: Path | None = None) -> None:
    """Select pixels of handwritten digits from 20 pairs and measure the accuracy.

    Parameters
    ----------
    n_features
        The number of pixels to select, out of 64.
    draws
        The number of random splits, each with its own pairs.
    report
        The report file. Default: linkselect-demo.html in the folder for temporary files.
    """
    from rich.console import Console
    from sklearn.datasets import load_digits

    if not 1 <= n_features <= N_PIXELS or draws < 2:
        raise UsageError(f"--n-features must be 1 to {N_PIXELS}, and --draws at least 2.")
    check_target(report, "--report", PAGE_FILES)
    console = Console(width=line_width(), quiet=QUIET.get())
    X, y = load_digits(return_X_y=True)
    X /= 16
    console.print(
        f"\n[bold]{len(y):,} handwritten digits[/bold] of 8 x 8 pixels from scikit-learn. For "
        f"{2 * N_EACH} pairs, it is known whether both images show the same digit. Which "
        f"{n_features} of the {N_PIXELS} pixels should be selected?\n"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # pixels at the border are constant
        found = _measure(X, y, n_features, draws, show_bar=console.is_terminal)
        pairs = _draw_pairs(y, 0)
        selector = _methods(n_features)[CHOSEN].fit(X, pairs=pairs)
    console.print(_table(found, len(y) // 2, n_features))
    console.print(_comment(found))
    rows = selector.support_.reshape(SIDE, SIDE)
    lines = ("".join("[green]██[/]" if pixel else "[dim]··[/]" for pixel in row) for row in rows)
    console.print("Pixels selected with one draw of pairs:\n")
    console.print("\n".join(f"  {line}" for line in lines))
    console.print(_report_line(selector, X, pairs, report), soft_wrap=True)
    console.print(NEXT)


NEXT = """[bold]Next[/bold]
  rank a table with labels:  [cyan]linkselect rank my.csv --label class[/]
  rank a table with pairs:   [cyan]linkselect rank my.csv --pairs pairs.csv[/]
  compare methods:           [cyan]linkselect compare my.csv --label class[/]
  list all methods:          [cyan]linkselect methods[/]
  in Python:                 [cyan]LinkSelector().fit(X, pairs=pairs)[/]
"""


def _methods(n_features: int) -> dict[str, Any]:
    from linkselect import FisherScore, LaplacianScore, LinkSelector

    return {
        "Laplacian score": LaplacianScore(n_features),
        WITHOUT: LinkSelector(n_features),
        CHOSEN: LinkSelector(n_features),
        "Fisher score": FisherScore(n_features),
    }


def _draw_pairs(y: NDArray[Any], draw: int) -> Any:
    from linkselect import Pairs

    return Pairs.from_labels(y, n_must=N_EACH, n_cannot=N_EACH, random_state=draw)


def _measure(
    X: NDArray[Any], y: NDArray[Any], n_features: int, draws: int, show_bar: bool
) -> dict[str, NDArray[Any]]:
    """Return the 1-NN accuracy in percent on held-out samples for each method and draw."""
    import numpy as np
    from sklearn.model_selection import train_test_split
    from sklearn.neighbors import KNeighborsClassifier

    methods = _methods(n_features)
    found: dict[str, list[float]] = {}
    for draw in tracked(range(draws), show_bar, lambda _: "measuring"):
        train, test, y_train, y_test = train_test_split(
            X, y, test_size=0.5, stratify=y, random_state=draw
        )
        pairs = _draw_pairs(y_train, draw)
        kept = {"random choice": np.random.default_rng(draw).permutation(N_PIXELS)[:n_features]}
        kept["all pixels"] = np.arange(N_PIXELS)
        known = {CHOSEN: {"pairs": pairs}, "Fisher score": {"y": y_train}}
        for name, selector in methods.items():
            kept[name] = selector.fit(train, **known.get(name, {})).order_[:n_features]
        for name, pixels in kept.items():
            model = KNeighborsClassifier(1).fit(train[:, pixels], y_train)
            found.setdefault(name, []).append(100 * model.score(test[:, pixels], y_test))
    return {name: np.array(values) for name, values in found.items()}


def _table(found: dict[str, NDArray[Any]], n_train: int, n_features: int) -> Table:
    from rich.table import Table

    n_draws = len(found[CHOSEN])
    table = Table(
        title=f"1-NN accuracy on the held-out half, mean ± standard deviation of {n_draws} draws",
        title_justify="left",
    )
    for column in ("pixels", "selected by", "supervision", "accuracy", "50 to 100 %"):
        table.add_column(column, justify="right" if column in ("pixels", "accuracy") else "left")
    for number, name, saw, colour in (
        (n_features, "random choice", "none", "yellow"),
        (n_features, "Laplacian score", "none", "yellow"),
        (n_features, WITHOUT, "none", "yellow"),
        (n_features, CHOSEN, f"{2 * N_EACH} pairs", "bold green"),
        (n_features, "Fisher score", f"all {n_train} labels", "yellow"),
        (N_PIXELS, "all pixels", "", "blue"),
    ):
        mean, spread = found[name].mean(), found[name].std(ddof=1)
        accuracy = f"[{colour}]{mean:.1f} %[/] [dim]± {spread:4.1f}[/]"
        halves = round(22 * max(mean - 50.0, 0.0) / 50.0)  # a bar has up to 11 characters
        bar = f"[{colour}]{'█' * (halves // 2)}{'▌' * (halves % 2)}[/]"
        table.add_row(str(number), name.removesuffix(", no pairs"), saw, accuracy, bar)
    return table


def _comment(found: dict[str, NDArray[Any]]) -> str:
    """Return a comment on the accuracies, which explains why pairs may not improve them."""

    def lead(other: str) -> str:
        gap = found[CHOSEN] - found[other]
        return f"{gap.mean():+.1f} ± {gap.std(ddof=1):.1f}"

    gain = found[CHOSEN] - found[WITHOUT]
    no_gain = (
        "On these data, pairs do not improve the accuracy, because pixels that represent the other "
        "pixels well also separate the digits. Averaged over many data sets, pairs improve the "
        "accuracy (see docs/pairs_alone.md)."
    )
    return (
        f"\nWith {2 * N_EACH} pairs, the accuracy differs by {lead('random choice')} percentage "
        f"points from a random choice, by {lead('Fisher score')} from the Fisher score with all "
        f"labels, and by {lead(WITHOUT)} from the same method without pairs. "
        f"{no_gain if gain.mean() < gain.std(ddof=1) else ''}\n"
    )


def _report_line(selector: Any, X: NDArray[Any], pairs: Any, report: Path | None) -> str:
    """Write the report; return a line that states its address, or the packages that are missing."""
    missing = [name for name in ("jinja2", "matplotlib") if find_spec(name) is None]
    if missing:
        # Unescaped brackets would be markup.
        return (
            f"\nA report with figures requires {' and '.join(missing)}: "
            "pip install 'linkselect\\[report,plot]'\n"
        )
    from linkselect.report import render, summarize

    path = report or Path(tempfile.gettempdir()) / "linkselect-demo.html"
    source = "digits from scikit-learn"
    summary = summarize(selector, X, pairs=pairs, source=source, image_shape=(SIDE, SIDE))
    write_page(path, render(summary))
    return f"\nReport: [cyan]{path.resolve().as_uri()}[/]\n"
