"""The command line. Each command imports only what it needs, so that help appears at once."""

import os
import sys
from collections.abc import Sequence
from typing import Any

from linkselect import __version__
from linkselect.cli._terminal import QUIET, line_width, say, throw_away

__all__ = ["main"]

# The description and examples of each command. Commands are specified by name, so that help imports
# none of them.
COMMANDS = {
    "rank": (
        "Rank the features of a table and keep the best.",
        "linkselect rank iris.csv --label species --method relieff --n-features 2",
        "linkselect rank genes.parquet --pairs pairs.csv --id-column patient",
        "linkselect rank faces.npz --label y --select small.csv --report report.html",
    ),
    "compare": (
        "Compare methods on one table by accuracy, agreement, stability and time.",
        "linkselect compare iris.csv --label species --methods fisher,relieff",
        "linkselect compare iris.csv --label species --methods fisher --out c.json",
        "linkselect compare iris.csv --drop species --pairs pairs.csv",
    ),
    "ask": (
        "Label pairs of samples on a local web page and write them to a file.",
        "linkselect ask",
        "linkselect ask photos",
        "linkselect ask genes.parquet --id-column patient --out pairs.csv",
        "linkselect ask faces.npz --image-shape 32x32",
    ),
    "features": (
        "Compute the features of the pictures in a folder and write them as a table.",
        "linkselect features photos --out photos.csv",
        "linkselect features photos --features color,texture --out photos.csv",
    ),
    "methods": (
        "List the methods with the supervision they require and a short description.",
        "linkselect methods",
        "linkselect methods relieff",
    ),
    "schema": (
        "Print the JSON Schema of the results of rank or compare.",
        "linkselect schema rank",
    ),
    "reproduce": (
        "Repeat the experiments of a paper and compare the results with the published ones.",
        "linkselect reproduce constraint-score-2008 --table 2 --data-dir data",
        "linkselect reproduce similarity-constraint-score-2020 --runs 10 --jobs 2",
    ),
    "demo": (
        "Select pixels of handwritten digits from 20 pairs and measure the accuracy.",
        "linkselect demo --n-features 16 --report digits.html",
    ),
    "pairs make": (
        "Make pairs from labels or from the design of a study.",
        "linkselect pairs make iris.csv --label species --must 9 --out pairs.csv",
        "linkselect pairs make study.csv --same patient --across batch --out p.csv",
    ),
    "pairs check": (
        "Check pairs against a table: coverage, conflicts and unknown rows.",
        "linkselect pairs check pairs.csv iris.csv",
    ),
    "pairs explain": (
        "Show the chain of must-links that contradicts each cannot-link.",
        "linkselect pairs explain pairs.csv",
    ),
    "pairs worth": (
        "Measure how the ranking changes if each pair is left out.",
        "linkselect pairs worth pairs.csv genes.parquet --id-column patient",
        "linkselect pairs worth pairs.csv iris.csv --label species --method lsdf",
    ),
    "pairs suspects": (
        "List the pairs that the other pairs contradict most, so that you can check them again.",
        "linkselect pairs suspects pairs.csv genes.parquet --id-column patient",
    ),
    "pairs convert": (
        "Convert pairs between CSV and JSON.",
        "linkselect pairs convert pairs.csv pairs.json",
    ),
}

_COMMON = "All commands accept --quiet (print only errors) and --debug (show tracebacks)."


def main() -> None:
    """Run the command line."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code: 0, 1 for invalid input, or 2 for invalid usage."""
    _escape_unencodable()
    debug = "--debug" in arguments
    QUIET.set("--quiet" in arguments)
    arguments = [argument for argument in arguments if argument not in ("--debug", "--quiet")]
    try:
        import cyclopts
    except ImportError:
        hint = "pip install 'linkselect[cli]'"
        print(f"The command line requires additional packages: {hint}", file=sys.stderr)
        return 1
    from linkselect._messages import GuidedError
    from linkselect.cli._errors import InputError

    command = " ".join(["linkselect", *arguments[:1]])
    try:
        make_app()(arguments, exit_on_error=False, result_action="return_value")
        sys.stdout.flush()
    except cyclopts.CycloptsError:
        return 2  # cyclopts has printed the reason
    except (BrokenPipeError, SystemExit) as error:
        # The reader of the output has closed the pipe, which rich turns into an exit.
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
            raise
        throw_away(sys.__stdout__ or sys.stdout)
    except (InputError, GuidedError, OSError) as error:  # their messages are complete
        return _end(f"{command}: {error}", getattr(error, "exit_code", 1), debug)
    except KeyboardInterrupt:
        return _end(f"{command}: stopped.", 130, debug)
    except ImportError as error:
        return _end(f"{command}: {_import_problem(error)}", 1, debug)
    except MemoryError:
        return _end(f"{command}: not enough memory for this table and method.", 1, debug)
    except Exception as error:
        what = f"{command}: unexpected {type(error).__name__}: {error}"
        return _end(f"{what}\nThis is a bug in linkselect. --debug shows the traceback.", 1, debug)
    return 0


def _import_problem(error: ImportError) -> str:
    """Explain why a package could not be imported, and how to solve the problem."""
    text = str(error)
    if isinstance(error, ModuleNotFoundError):
        return f"a package is not installed: {text}. Run pip install 'linkselect[all]'."
    if any(words in text.lower() for words in ("memory", "map segment", "allocate", "tls")):
        return f"a package could not be loaded for lack of memory (see ulimit -v): {text}."
    if "pip install" in text:  # a message of this library
        return text
    return f"a package could not be loaded: {text}. Try reinstalling it."


def _escape_unencodable() -> None:
    """Escape characters that the terminal cannot encode, instead of raising an error."""
    # A stream that was closed before the start is None.
    sys.stdout = sys.stdout or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    sys.stderr = sys.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _end(message: str, code: int, debug: bool) -> int:
    if debug:
        import traceback

        traceback.print_exc()
    say(message, error=True)
    return code


def make_app() -> Any:
    """Return the application with all commands."""
    import cyclopts
    from rich.console import Console

    app = cyclopts.App(
        name="linkselect",
        console=Console(width=line_width()),
        error_console=Console(width=line_width(), stderr=True),
        help="Feature selection from must-link and cannot-link pairs, few labels, or none.",
        help_format="markdown",
        help_epilogue=_COMMON,
        version=__version__,
        default_parameter=cyclopts.Parameter(negative=(), show_default=_shown_default),
        suppress_keyboard_interrupt=False,  # `run` reports that the command was stopped
    )
    pairs = cyclopts.App(name="pairs", help="Make, check, explain, evaluate or convert pairs.")
    for words, (summary, *examples) in COMMANDS.items():
        group, _, name = words.rpartition(" ")
        example = "\n".join(["Example:", "```", *examples, "```", _COMMON])
        function = f"linkselect.cli._{group or name}:{name}"
        parent = pairs if group else app
        parent.command(function, name=name, help=summary, help_epilogue=example)
    app.command(pairs)
    return app


def _shown_default(value: Any) -> str | None:
    return None if value is None or value is False or value == () else str(value)
