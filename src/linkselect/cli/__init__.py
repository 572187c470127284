"""The command line. Each command imports what it needs, so that help answers at once."""

import os
import sys
from collections.abc import Sequence
from typing import Any

from linkselect import __version__

__all__ = ["main"]

# What each command does, and how it is typed. Commands are named by text, so that asking for
# help imports none of them.
COMMANDS = {
    "rank": (
        "Rank the features of a table and keep the best.",
        "linkselect rank iris.csv --label species --method relieff --n-features 2",
        "linkselect rank genes.parquet --pairs pairs.csv --id-column patient",
        "linkselect rank faces.npz --label y --select small.csv --report report.html",
    ),
    "compare": (
        "Compare several methods on one table: accuracy, agreement, stability, time.",
        "linkselect compare iris.csv --label species --methods fisher,relieff",
        "linkselect compare iris.csv --label species --methods fisher --out c.json",
        "linkselect compare iris.csv --drop species --pairs pairs.csv",
    ),
    "ask": (
        "Ask on a page whether samples are alike, and write the pairs.",
        "linkselect ask",
        "linkselect ask photos",
        "linkselect ask genes.parquet --id-column patient --out pairs.csv",
        "linkselect ask faces.npz --image-shape 32x32",
    ),
    "features": (
        "Measure the pictures of a folder: a table with one row for each.",
        "linkselect features photos --out photos.csv",
        "linkselect features photos --features color,texture --out photos.csv",
    ),
    "methods": (
        "List the methods, what each one needs, and what it does.",
        "linkselect methods",
        "linkselect methods relieff",
    ),
    "schema": (
        "Print the JSON Schema of what rank or compare writes as JSON.",
        "linkselect schema rank",
    ),
    "reproduce": (
        "Repeat a paper's experiments, and show its numbers beside ours.",
        "linkselect reproduce constraint-score-2008 --table 2 --data-dir data",
        "linkselect reproduce similarity-constraint-score-2020 --runs 10 --jobs 2",
    ),
    "demo": (
        "Choose pixels of handwritten digits from twenty pairs, and see what the choice is worth.",
        "linkselect demo --n-features 16 --report digits.html",
    ),
    "pairs make": (
        "Make pairs of labels, or of the design of a study.",
        "linkselect pairs make iris.csv --label species --must 9 --out pairs.csv",
        "linkselect pairs make study.csv --same patient --across batch --out p.csv",
    ),
    "pairs check": (
        "Check pairs against a table: coverage, conflicts, rows that are not there.",
        "linkselect pairs check pairs.csv iris.csv",
    ),
    "pairs explain": (
        "Explain conflicts: the chain of must-links that contradicts each cannot-link.",
        "linkselect pairs explain pairs.csv",
    ),
    "pairs worth": (
        "Tell what each pair changes in a ranking: what would happen without it.",
        "linkselect pairs worth pairs.csv genes.parquet --id-column patient",
        "linkselect pairs worth pairs.csv iris.csv --label species --method lsdf",
    ),
    "pairs suspects": (
        "List the pairs that the other pairs speak against, to ask again about the first.",
        "linkselect pairs suspects pairs.csv genes.parquet --id-column patient",
    ),
    "pairs convert": (
        "Convert pairs between CSV and JSON.",
        "linkselect pairs convert pairs.csv pairs.json",
    ),
}


def main() -> None:
    """Run the command line."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code: 0, 1 for bad input, 2 for bad usage."""
    _print_whatever_comes()
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    try:
        import cyclopts
    except ImportError:
        hint = "pip install 'linkselect[cli]'"
        print(f"The command line needs more packages: {hint}", file=sys.stderr)
        return 1
    from linkselect._messages import GuidedError
    from linkselect.cli._errors import InputError
    from linkselect.cli._output import throw_away

    command = " ".join(["linkselect", *arguments[:1]])
    try:
        make_app()(arguments, exit_on_error=False, result_action="return_value")
        sys.stdout.flush()
    except cyclopts.CycloptsError:
        return 2  # cyclopts has said why
    except (BrokenPipeError, SystemExit) as error:
        # Whoever read the output has enough; rich turns that into an exit.
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
            raise
        throw_away(sys.__stdout__ or sys.stdout)
    except (InputError, GuidedError, OSError) as error:  # they say what to do
        return _end(f"{command}: {error}", getattr(error, "exit_code", 1), debug)
    except KeyboardInterrupt:
        return _end(f"{command}: stopped.", 130, debug)
    except ImportError as error:
        return _end(f"{command}: {_why_not_loaded(error)}", 1, debug)
    except MemoryError:
        return _end(f"{command}: not enough memory for this table and method.", 1, debug)
    except Exception as error:
        what = f"{command}: unexpected {type(error).__name__}: {error}"
        return _end(f"{what}\nThis is a fault of linkselect. --debug shows where.", 1, debug)
    return 0


def _why_not_loaded(error: ImportError) -> str:
    """Say why a package could not be used, whether or not it is installed."""
    text = str(error)
    if isinstance(error, ModuleNotFoundError):
        hint = "pip install 'linkselect[all]' has everything"
        return f"needs a package that is not there: {text}; {hint}."
    if any(words in text.lower() for words in ("memory", "map segment", "allocate", "tls")):
        return f"a package could not be loaded, since memory is limited (ulimit?): {text}."
    if "pip install" in text:  # our own words
        return text
    return f"a package could not be loaded: {text}. Installing it again may help."


def _print_whatever_comes() -> None:
    """Print an escape for characters that the terminal cannot encode, instead of failing."""
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
    from linkselect.cli._output import say

    say(message, error=True)
    return code


def make_app() -> Any:
    """Return the tree of commands."""
    import cyclopts

    app = cyclopts.App(
        name="linkselect",
        help="Select features from must-link and cannot-link pairs, a few labels, or none.",
        help_format="markdown",
        help_epilogue="Every command takes --help, and --debug to show where an error comes from.",
        version=__version__,
        default_parameter=cyclopts.Parameter(negative=(), show_default=_shown_default),
        suppress_keyboard_interrupt=False,  # we say that it was stopped
    )
    pairs = cyclopts.App(name="pairs", help="Make, check, explain, weigh or convert pairs.")
    for words, (summary, *examples) in COMMANDS.items():
        group, _, name = words.rpartition(" ")
        example = "\n".join(["Example:", "```", *examples, "```"])
        function = f"linkselect.cli._{group or name}:{name}"
        parent = pairs if group else app
        parent.command(function, name=name, help=summary, help_epilogue=example)
    app.command(pairs)
    return app


def _shown_default(value: Any) -> str | None:
    return None if value is None or value is False or value == () else str(value)
