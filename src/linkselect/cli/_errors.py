"""Errors of the command line: their messages and exit codes."""

import re
from collections.abc import Container, Iterable
from warnings import WarningMessage

from linkselect._messages import ConstantFeaturesWarning, GuidedError, LeftOutPairsWarning
from linkselect._messages import nearest as nearest
from linkselect._messages import shown as shown

# A final sentence that refers to a function of scikit-learn.
_PYTHON = re.compile(r"(?<=\.) [A-Z][^.]*sklearn\.[\w.]*\(\)\.$")
# Advice for the command line, in place of that for Python, by the parameter at fault.
_TYPED = {
    "client": "Restart the cluster or its workers, or omit --scheduler.",
    "weights": "Remove the weight column, or use --method link_selector, constraint, lsdf, "
    "laplacian_constraint, scgs or similarity_constraint.",
}
# A warning of scikit-learn about constant features, which linkselect reports itself.
_BY_NUMBER = re.compile(r"Features \[.*\] are constant\.", re.DOTALL)


class InputError(Exception):
    """An error in a file or its contents, with a message that explains what to do."""

    exit_code = 1


class UsageError(InputError):
    """An error in the options or arguments of a command."""

    exit_code = 2


def notes_of(caught: Iterable[WarningMessage], settable: Container[str] = ()) -> list[str]:
    """Convert warnings of the library to unique notes, with advice for the command line.

    Parameters
    ----------
    caught : iterable of warnings.WarningMessage
        The warnings that `warnings.catch_warnings(record=True)` recorded.
    settable : container of str
        The parameters that --set can change.
    """
    # Commands have their own notes on constant features and on ignored pairs.
    skipped = (RuntimeWarning, ConstantFeaturesWarning, LeftOutPairsWarning)
    ours = (one.message for one in caught if not issubclass(one.category, skipped))
    notes = dict.fromkeys(_note_of(one, settable) for one in ours)
    return [note for note in notes if not _BY_NUMBER.fullmatch(note)]


def _note_of(warning: Warning | str, settable: Container[str]) -> str:
    settings: dict[str, str] = getattr(warning, "settings", {})
    ways = [f"--set {name}={value}" for name, value in settings.items() if name in settable]
    if "X" in settings:
        ways.insert(0, f"--scale {settings['X']}")
    problem = _PYTHON.sub("", getattr(warning, "problem", str(warning)))
    return f"{problem} Try {' or '.join(ways)}." if ways else problem


def problem_of(error: Exception) -> str:
    """Return the message of an error, with advice for the command line instead of Python.

    Examples
    --------
    >>> from linkselect._messages import GuidedValueError
    >>> problem_of(GuidedValueError("n=5, but there are 3.", "Choose 1 to 3."))
    'n=5, but there are 3.'
    >>> problem_of(ValueError("n=5, but there are 3."))
    'n=5, but there are 3.'
    """
    if not isinstance(error, GuidedError):
        return str(error)
    return f"{error.problem} {_TYPED.get(error.parameter, '')}".rstrip()
