"""`linkselect ask`: a page that turns looking at two samples into pairs."""

from __future__ import annotations

import shlex
import sys
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from linkselect._messages import GuidedError
from linkselect.cli._errors import InputError, UsageError
from linkselect.cli._output import check_apart, check_target, say, say_notes
from linkselect.cli._preparation import DEFAULT_PREPARATION, Preparation, settle_values
from linkselect.cli._seeds import Seed
from linkselect.cli._supervision_input import check_pairs, explained, read_pairs
from linkselect.cli._tables import DEFAULT_READING, Reading, Table, read_table, read_text_column

if TYPE_CHECKING:
    from linkselect.labelling._session import Ask
    from linkselect.labelling._shown_samples import ShownSamples

DIGITS = "handwritten digits (example)"
DIGITS_AGAIN = """from sklearn.datasets import load_digits
from linkselect import ConsensusSelector, Pairs

X, pairs = load_digits().data, Pairs.from_csv({out!r})
selector = ConsensusSelector(random_state=0).fit(X, pairs=pairs)"""


@dataclass(frozen=True)
class Showing:
    """How samples are shown.

    Parameters
    ----------
    images
        A picture file for each sample: a folder of files named by the ids, or the column that
        names files beside the table.
    image_shape
        Height and width, such as 8x8, if the features are the pixels of an image.
    curve
        The features are in order, as in a spectrum or a series.
    text
        The column of texts to show.
    show
        A further column to show below each sample. Give it once for each.
    """

    images: str | None = None
    image_shape: str | None = None
    curve: bool = False
    text: str | None = None
    show: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are shown and are no features."""
        named = [self.text, *self.show]
        if self.images is not None and not Path(self.images).is_dir():
            named.append(self.images)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    def option_of(self, column: str) -> str:
        """Return the option that names a column."""
        if column == self.text:
            return "--text"
        return "--show" if column in self.show else "--images"


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
    """Ask on a page of this machine whether samples are alike, and write the pairs.

    Parameters
    ----------
    table
        CSV, TSV (also .gz), Parquet, Feather, NPY, NPZ, MAT, ARFF or SVMlight. Without one, the
        handwritten digits of scikit-learn are an example.
    pairs
        A CSV or JSON file of pairs to go on from.
    out
        The CSV file of pairs, written whole after every answer. Beside it lies a file that ends in
        .linkselect.sqlite with all answers: the same command goes on where it ended.
    strategy
        Which pair is asked next.
    seed
        Where random draws start from.
    port
        The port of the page; 0 for a free one.
    browser
        Open the page in the browser.
    """
    try:
        from linkselect.labelling._session import check_installed

        check_installed()
    except ImportError as error:
        raise InputError(str(error)) from error
    check_target(out, "--out", (".csv",))
    check_apart({"the table": table, "--pairs": pairs}, {"--out": out})
    command = Command(table, read, pairs, out, showing, strategy, prepare, seed)
    with _progress() as show_progress, _explained():
        wanted, notes = command.gather(show_progress)
        from linkselect.labelling._session import begin

        labelling, more = begin(wanted)
    say_notes([*notes, *more])
    _serve(labelling, wanted.source, port, browser)


def _serve(labelling: Any, source: str, port: int, browser: bool) -> None:
    from linkselect.labelling._serving import Server

    try:
        with _explained():
            server = Server(labelling, source, port)
    except InputError:
        labelling.close()
        raise
    # From the start on: who presses Ctrl-C as soon as the address is there ends it, too.
    try:
        server.start()
        say(f"Open {server.address}")
        say("The address holds a secret: who has it can answer, on this machine. Ctrl-C ends it.")
        sys.stdout.flush()  # a program that reads the address through a pipe waits for it
        if browser:
            webbrowser.open(server.address_once())
        server.wait()
    except KeyboardInterrupt:
        pass
    finally:
        counts = labelling.queries.counts
        server.close()
    given = ", ".join(f"{number} {answer}" for answer, number in counts.items())
    say(f"\n{given}. The pairs are in {labelling.file.out}; the same command goes on.")


@dataclass(frozen=True)
class Command:
    """What was typed."""

    table: Path | None
    read: Reading
    pairs: Path | None
    out: Path
    showing: Showing
    strategy: str
    prepare: Preparation
    seed: int

    def gather(self, progress: Callable[[int, int], None] | None) -> tuple[Ask, list[str]]:
        """Read everything, and say what should be known about it."""
        from linkselect.labelling._session import Ask

        # First, so that a name that is no column is said to be that of its own option.
        texts = {name: self._column(name) for name in self.showing.columns}
        data, shape = self._data()
        data, prepare, notes = settle_values(data, self.prepare)
        links = None if self.pairs is None else read_pairs(self.pairs, data.ids is not None)
        notes = [*data.notes, *notes, *check_pairs(links, data, self.pairs)]
        transformer = prepare.transformer(data.is_sparse)
        X = data.X if transformer is None else transformer.fit_transform(data.X)
        wanted = Ask(
            X,
            self._samples(data, shape, texts),
            data.ids,
            links,
            self.out,
            self.strategy,
            self.seed,
            data.source,
            prepare.describe(data.is_sparse),
            self._again(data),
            progress,
        )
        return wanted, notes

    def _data(self) -> tuple[Table, tuple[int, int] | None]:
        if self.table is None:
            if self.showing.image_shape is not None or self.showing.curve:
                raise UsageError("--image-shape and --curve need a table.")
            return _digits(), (8, 8)
        dropped = (*self.read.drop, *self.showing.columns)
        data = read_table(self.table, replace(self.read, drop=dropped))
        return data, _shape(self.showing.image_shape, data)

    def _samples(
        self, data: Table, shape: tuple[int, int] | None, texts: dict[str, list[str]]
    ) -> ShownSamples:
        from linkselect.labelling._shown_samples import ShownSamples

        shown = self.showing
        ids = tuple(range(data.X.shape[0])) if data.ids is None else data.ids
        return ShownSamples(
            data.X,
            ids,
            data.names,
            shape,
            shown.curve,
            None if shown.text is None else texts[shown.text],
            self._pictures(ids, texts),
            {name: texts[name] for name in shown.show},
        )

    def _column(self, name: str) -> list[str]:
        if self.table is None:
            raise UsageError("--text, --show and --images need a table.")
        try:
            return read_text_column(self.table, self.read, name)
        except InputError as error:
            # The column is read like labels, but was named by another option.
            said = str(error).replace("(--label)", f"({self.showing.option_of(name)})")
            no_folder = name == self.showing.images and said != str(error)
            more = " There is no such folder either." if no_folder else ""
            raise InputError(said + more) from error

    def _pictures(self, ids: Any, texts: dict[str, list[str]]) -> dict[int, Path] | None:
        from linkselect.labelling._sample_pictures import named_pictures, pictures_in_folder

        images = self.showing.images
        if images is None:
            return None
        if images in texts:
            assert self.table is not None
            return named_pictures(self.table.parent, texts[images])
        return pictures_in_folder(Path(images), ids)

    def _again(self, data: Table) -> str:
        """Return the command that ranks by the pairs, without the page."""
        from linkselect.labelling._labelling import is_large

        if self.table is None:
            return DIGITS_AGAIN.format(out=str(self.out))
        words = ["linkselect", "rank", str(self.table)]
        for given in (self.read, self.prepare):
            for field in fields(given):
                value = getattr(given, field.name)
                if field.name == "drop":
                    value = (*value, *self.showing.columns)
                if value != field.default:
                    words += _option(field.name, value)
        words += ["--method", "constraint"] if is_large(data.X) else []
        return shlex.join([*words, "--pairs", str(self.out), "--report", "report.html"])


def _option(name: str, value: Any) -> list[str]:
    option = f"--{name.replace('_', '-')}"
    if value is True:
        return [option]
    values = value if isinstance(value, tuple) else [value]
    return [word for one in values for word in (option, str(one))]


def _digits() -> Table:
    from sklearn.datasets import load_digits

    data = load_digits()
    return Table(data.data, tuple(data.feature_names), None, None, DIGITS)


def _shape(text: str | None, data: Table) -> tuple[int, int] | None:
    if text is None:
        return None
    height, cross, width = text.lower().partition("x")
    if not (cross and height.isdecimal() and width.isdecimal()):
        raise UsageError(f"--image-shape {text}: write height x width, such as 8x8.")
    if int(height) * int(width) != len(data.names):
        raise UsageError(
            f"--image-shape {text} has {int(height) * int(width):,} pixels, but {data.source} has "
            f"{len(data.names):,} features. Leave other columns out with --drop."
        )
    return int(height), int(width)


@contextmanager
def _explained() -> Iterator[None]:
    """Turn errors of the page into those of the command line."""
    from linkselect.pairs import PairConflictError

    try:
        with explained({"on_conflict": ""}):
            yield
    except InputError as error:
        cause = error.__cause__
        if isinstance(cause, PairConflictError):
            way_out = "Correct the file; `linkselect pairs explain FILE` shows all chains."
            raise InputError(f"--pairs: {cause.problem} {way_out}") from error
        if isinstance(cause, GuidedError) and cause.parameter in ("out", "port", ""):
            how = " --out names the file to write, --pairs one to go on from."
            raise InputError(str(cause) + (how if cause.parameter == "out" else "")) from error
        raise


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None] | None]:
    """Show how far reading is, on a terminal, if it takes long enough to be seen."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("looking at the samples", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
