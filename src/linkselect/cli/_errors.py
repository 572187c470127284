"""What the command line says when something is wrong, and how it ends."""

import re
from collections.abc import Container, Iterable
from warnings import WarningMessage

from linkselect._messages import GuidedError
from linkselect._messages import nearest as nearest
from linkselect._messages import shown as shown

# A sentence at the end that names something of scikit-learn.
_PYTHON = re.compile(r"(?<=\.) [A-Z][^.]*sklearn\.[\w.]*\(\)\.$")
# What to type instead of what to write in Python, by what is at fault.
_TYPED = {
    "client": "Start the cluster or its workers again, or leave --scheduler out.",
    "weights": "Leave out the column weight, or use --method link_selector, constraint, lsdf, "
    "laplacian_constraint, scgs or similarity_constraint.",
}
# What scikit-learn says about constant features, by their number; we say it, too.
_BY_NUMBER = re.compile(r"Features \[.*\] are constant\.", re.DOTALL)


class InputError(Exception):
    """Something is wrong with a file or what is in it; the message says what to do."""

    exit_code = 1


class UsageError(InputError):
    """Something is wrong with the command as it was typed."""

    exit_code = 2


def notes_of(caught: Iterable[WarningMessage], settable: Container[str] = ()) -> list[str]:
    """Say each warning of the library once, with what to type instead of what to write in Python.

    Parameters
    ----------
    caught : iterable of warnings.WarningMessage
        What `warnings.catch_warnings(record=True)` recorded.
    settable : container of str
        The parameters that --set reaches.
    """
    ours = (one.message for one in caught if not issubclass(one.category, RuntimeWarning))
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
    """Return what is wrong, with a way out on the command line instead of one in Python.

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
