"""`linkselect ask`: a local web page for labelling pairs of samples."""

from __future__ import annotations

import shlex
import signal
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter

from linkselect._arrays import IntArray
from linkselect._messages import GuidedError, many
from linkselect._pictures import named_features
from linkselect.cli._choices import Seed
from linkselect.cli._errors import InputError, UsageError, shown
from linkselect.cli._output import check_apart, check_target
from linkselect.cli._preparation import DEFAULT_PREPARATION, Preparation, settle_values
from linkselect.cli._supervision_input import explained, pairs_of
from linkselect.cli._tables import DEFAULT_READING, Reading, Table, read_table, read_text_column
from linkselect.cli._tables.picture_table import is_picture_folder, store_of
from linkselect.cli._tables.table import NoColumnError
from linkselect.cli._terminal import progress, say, say_notes

if TYPE_CHECKING:
    from linkselect.labelling._shown_samples import ShownSamples

DIGITS = "handwritten digits (example)"
DIGITS_AGAIN = """from sklearn.datasets import load_digits
from linkselect import LinkSelector, Pairs

X, pairs = load_digits().data, Pairs.from_csv({out!r})
selector = LinkSelector().fit(X, pairs=pairs)"""


@dataclass(frozen=True)
class Showing:
    """Options for displaying the samples.

    Parameters
    ----------
    images
        The source of a picture for each sample: a folder of files named after the ids, or a column
        of file names relative to the folder of the table.
    image_shape
        The height and width of an image, such as 8x8, if the features are its pixels.
    curve
        Show each sample as a curve, because the order of the features is meaningful, as in a
        spectrum or a time series.
    curves
        The source of a curve for each sample: a folder of CSV or NPY files named after the ids
        (each with one column of values, or with columns x and y), or a pattern of feature names,
        such as 'ecg_*'.
    text
        The column with the text to show.
    show
        Another column to show below each sample. Repeat the option for several columns.
    """

    images: str | None = None
    image_shape: str | None = None
    curve: bool = False
    curves: str | None = None
    text: str | None = None
    show: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are displayed but are not features."""
        named = [self.text, *self.show]
        if self.images is not None and not Path(self.images).is_dir():
            named.append(self.images)
        return tuple(dict.fromkeys(name for name in named if name is not None))


DEFAULT_SHOWING = Showing()


def ask(
    table: Path | None = None,
    /,
    *,
    read: Annotated[Reading, Parameter(name="*")] = DEFAULT_READING,
    pairs: Path | None = None,
    out: Path = Path("pairs.csv"),
    showing: Annotated[Showing, Parameter(name="*")] = DEFAULT_SHOWING,
    strategy: Literal["grow", "minmax", "random"] = "grow",
    prepare: Annotated[Preparation, Parameter(name="*")] = DEFAULT_PREPARATION,
    seed: Seed = 0,
    port: int = 0,
    browser: Annotated[bool, Parameter(negative="--no-browser")] = True,
) -> None:
    """Label pairs of samples on a local web page, and write them to a file.

    Parameters
    ----------
    table
        A folder of pictures (PNG, JPEG, TIFF, WebP, GIF or BMP, which may be in subfolders), or a
        table: CSV, TSV (also .gz), Excel, Parquet, Feather, NPY, NPZ, MAT, ARFF, SVMlight or .h5ad.
        Default: the handwritten digits of scikit-learn, as an example.
    pairs
        A CSV or JSON file of existing pairs to start from.
    out
        The CSV file for the pairs, which is saved during pauses and at the end. Every answer is
        stored immediately in a second file, whose name ends in .linkselect.sqlite, so that the same
        command can resume.
    strategy
        The strategy for choosing the next pair.
    seed
        The random seed.
    port
        The port of the page; 0 selects a free port.
    browser
        Open the page in the browser.
    """
    from linkselect.labelling._session import Ask, begin, check_installed

    check_installed()
    check_target(out, "--out", (".csv",))
    check_apart({"the table": table, "--pairs": pairs}, {"--out": out})
    if table is not None and is_picture_folder(table):
        read = replace(read, picture_store=store_of(out))
    with _explained():
        # First, so that an unknown column is reported with the option that names it.
        texts = {name: _column(table, read, showing, name) for name in showing.columns}
        data, shape = _data(table, read, showing)
    with progress(sys.stderr.isatty()) as report, _explained():
        data, settled, notes, _ = settle_values(data, prepare)
        links, about_pairs = (None, []) if pairs is None else pairs_of(pairs, data)
        wanted = Ask(
            settled.applied(data),
            _samples(data, shape, table, read, showing, texts),
            data.ids,
            links,
            out,
            strategy,
            seed,
            data.source,
            settled.describe(data.is_sparse),
            DIGITS_AGAIN.format(out=str(out))
            if table is None
            else _again([str(table), *_typed(read, showing.columns), *_typed(prepare)], out),
            lambda done, total: report(done, total, "comparing samples"),
        )
        labelling, more = begin(wanted)
    say_notes([*data.notes, *notes, *about_pairs, *more])
    _serve(labelling, wanted.source, port, browser)


def _serve(labelling: Any, source: str, port: int, browser: bool) -> None:
    from linkselect.labelling._serving import Server

    try:
        with _explained():
            server = Server(labelling, source, port)
    except InputError:
        labelling.close()
        raise
    # Ctrl-C must work as soon as the address is printed.
    try:
        _end_by_signals()
        server.start()
        say(f"Open {server.address}")
        say("Anyone on this machine who has this address can answer. Press Ctrl-C to stop.")
        sys.stdout.flush()  # a program may read the address through a pipe
        if browser:
            webbrowser.open(server.address_once())
        server.wait()
    except KeyboardInterrupt:
        pass
    finally:
        counts = labelling.queries.counts
        server.close()
    given = ", ".join(f"{number} {answer}" for answer, number in counts.items())
    where, kept = "There were no answers, so no pairs were written.", labelling.samples.thumbnails
    where += "" if kept is None else f" Picture features are stored in {kept}."
    if labelling.file.out.exists():
        where = f"The pairs are in {labelling.file.out}; run the same command to resume."
    say(f"\n{given}. {labelling.trouble or where}")


def _end_by_signals() -> None:
    """Handle a closed terminal or a termination signal in the same way as Ctrl-C."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name) and threading.current_thread() is threading.main_thread():
            signal.signal(getattr(signal, name), signal.default_int_handler)


def _data(
    table: Path | None, read: Reading, showing: Showing
) -> tuple[Table, tuple[int, int] | None]:
    """Read the samples, and return them with the shape of their images, if given."""
    if table is not None:
        # A folder of pictures has no feature columns that could be dropped.
        shown_only = () if read.picture_store else showing.columns
        data = read_table(table, replace(read, drop=(*read.drop, *shown_only)))
        if data.X.shape[0] < 2:
            raise InputError(f"{data.source} has only one sample, but a pair needs two.")
        return data, _shape(showing.image_shape, data)
    if showing.image_shape is not None or showing.curve or showing.curves is not None:
        raise UsageError("--image-shape, --curve and --curves need a table.")
    from sklearn.datasets import load_digits

    digits = load_digits()
    return Table(digits.data, tuple(digits.feature_names), None, None, DIGITS), (8, 8)


def _samples(
    data: Table,
    shape: tuple[int, int] | None,
    table: Path | None,
    read: Reading,
    showing: Showing,
    texts: dict[str, list[str]],
) -> ShownSamples:
    from linkselect.labelling._sample_curves import curves_in_folder
    from linkselect.labelling._sample_pictures import named_pictures, pictures_in_folder
    from linkselect.labelling._shown_samples import ShownSamples

    ids = tuple(range(data.X.shape[0])) if data.ids is None else data.ids
    pictures, regions = None, {}
    if table is not None and read.picture_store is not None:
        pictures = {row: (table / name).resolve() for row, name in enumerate(map(str, ids))}
        regions = {one.name: one.region for one in named_features()}
    elif table is not None and showing.images in texts:
        pictures = named_pictures(table.parent, texts[showing.images])
    elif showing.images is not None:
        pictures = pictures_in_folder(Path(showing.images), ids)
    in_order: bool | IntArray = showing.curve
    curves = None
    if showing.curves is not None and Path(showing.curves).is_dir():
        curves = curves_in_folder(Path(showing.curves), ids)
    elif showing.curves is not None:
        in_order = _in_order(showing.curves, data)
    return ShownSamples(
        data.X,
        ids,
        data.names,
        shape,
        in_order,
        None if showing.text is None else texts[showing.text],
        pictures,
        {name: texts[name] for name in showing.show},
        curves,
        {name for names in data.encoded for name in names},
        regions,
        read.picture_store,
    )


def _in_order(pattern: str, data: Table) -> IntArray:
    """Return the positions of the features that match a pattern and form a curve."""
    found = np.flatnonzero([fnmatchcase(name, pattern) for name in data.names])
    if len(found) < 2:
        raise InputError(
            f"{many(len(found), 'feature')} of {data.source} match{'es' * (len(found) == 1)} "
            f"{shown(pattern)} (--curves), and there is no such folder. A curve needs two or more "
            f"features, such as {', '.join(map(shown, data.names[:3]))}."
        )
    return found


def _column(table: Path | None, read: Reading, showing: Showing, name: str) -> list[str]:
    if table is None:
        raise UsageError("--text, --show and --images need a table.")
    option = "--text" if name == showing.text else "--images"
    try:
        return read_text_column(table, read, name, "--show" if name in showing.show else option)
    except NoColumnError as error:
        more = " There is no folder with this name either." if name == showing.images else ""
        raise InputError(f"{error}{more}") from error


def _again(typed: list[str], out: Path) -> str:
    """Return the command that ranks the features with the pairs."""
    return shlex.join(
        ["linkselect", "rank", *typed, "--pairs", str(out), "--report", "report.html"]
    )


def _typed(given: Reading | Preparation, also_dropped: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the command-line form of all options that differ from their defaults."""
    for field in fields(given):
        value = getattr(given, field.name)
        if field.name == "drop":
            value = (*value, *also_dropped)
        if value == field.default or field.name == "picture_store":
            continue
        option = f"--{field.name.replace('_', '-')}"
        if value is True:
            yield option
        else:
            for one in value if isinstance(value, tuple) else [value]:
                yield from (option, str(one))


def _shape(text: str | None, data: Table) -> tuple[int, int] | None:
    if text is None:
        return None
    height, cross, width = text.lower().partition("x")
    if not (cross and height.isdecimal() and width.isdecimal()):
        raise UsageError(f"--image-shape {text} must be height x width, such as 8x8.")
    if int(height) * int(width) != len(data.names):
        raise UsageError(
            f"--image-shape {text} has {int(height) * int(width):,} pixels, but {data.source} has "
            f"{len(data.names):,} features. Leave other columns out with --drop."
        )
    return int(height), int(width)


@contextmanager
def _explained() -> Iterator[None]:
    """Convert errors of the labelling page to errors of the command line."""
    try:
        with explained({}):
            yield
    except InputError as error:
        cause = error.__cause__
        if isinstance(cause, GuidedError) and cause.parameter in ("out", "port", ""):
            how = " --out is the file to write, and --pairs is a file with which to start."
            raise InputError(str(cause) + (how if cause.parameter == "out" else "")) from error
        raise
