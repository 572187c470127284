"""Messages: errors with hints, warnings at the user's line, and counted nouns."""

import difflib
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence

# Warnings do not point to lines of these packages; joblib calls the steps of a Pipeline.
OUR_PACKAGES = {"linkselect", "sklearn", "joblib"}


class GuidedError(Exception):
    """An error with a problem and, separately, a hint for Python users.

    Another interface, such as the command line, shows the problem with a hint of its own.

    Parameters
    ----------
    problem : str
        The wrong value and the rule, in whole sentences.
    hint : str
        What to write instead.
    parameter : str
        The name of the invalid parameter; "X" for the samples. Empty if several are involved.

    Examples
    --------
    >>> error = GuidedValueError("n=5, but there are 3.", "Choose 1 to 3.")
    >>> str(error), error.problem
    ('n=5, but there are 3. Choose 1 to 3.', 'n=5, but there are 3.')
    """

    def __init__(self, problem: str, hint: str = "", parameter: str = "") -> None:
        super().__init__(f"{problem} {hint}".rstrip())
        self.problem = problem
        self.hint = hint
        self.parameter = parameter

    def __reduce__(self) -> tuple[type, tuple[str, str, str]]:
        # Errors are passed between processes; unpickling creates an exception from its arguments.
        return type(self), (self.problem, self.hint, self.parameter)


class GuidedValueError(GuidedError, ValueError):
    """An invalid value, and what to pass instead."""


class GuidedTypeError(GuidedError, TypeError):
    """A value of an invalid type, and what to pass instead."""


class ConstantFeaturesWarning(UserWarning):
    """Some features are constant; a combination of selectors warns of them only once."""


class RoundedFeaturesWarning(UserWarning):
    """Some features contain whole numbers that float64 cannot represent exactly."""


class LeftOutPairsWarning(UserWarning):
    """Some pairs are ignored: they contradict others or name absent samples."""


def warn_user(
    problem: str,
    category: type[Warning] = UserWarning,
    *,
    hint: str = "",
    settings: Mapping[str, str] | None = None,
) -> None:
    """Warn at the innermost line on the call stack outside linkselect, scikit-learn and joblib.

    Parameters
    ----------
    problem : str
        The problem, in whole sentences.
    category : type of Warning
        The category of the warning.
    hint : str
        What to write instead, in Python.
    settings : mapping of str to str, optional
        The parameters to change, from which another interface makes its own hint. A value is the
        new setting, or "VALUE" if the user has to choose it; for "X" it is a scaling of the
        samples.
    """
    level = 1
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in OUR_PACKAGES:
        frame = frame.f_back
        level += 1
    warning = category(f"{problem} {hint}".rstrip())
    vars(warning).update(problem=problem, settings=dict(settings or {}))
    warnings.warn(warning, stacklevel=level + 1)


def many(number: int, noun: str) -> str:
    """Return a number with its noun, in the singular or plural.

    Examples
    --------
    >>> many(1, "row"), many(1200, "row")
    ('1 row', '1,200 rows')
    >>> many(2, "class")
    '2 classes'
    """
    ending = "" if number == 1 else "es" if noun.endswith(("s", "ch")) else "s"
    return f"{number:,} {noun}{ending}"


def first_few(names: Sequence[str], most: int = 5) -> str:
    """List the first names, and count the others.

    Examples
    --------
    >>> first_few(["a", "b", "c"], 2), first_few(["a", "b"], 2)
    ('a, b and 1 more', 'a, b')
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def pairs_text(n_must: int, n_cannot: int) -> str:
    """Count must-links and cannot-links, and omit a kind without pairs.

    Examples
    --------
    >>> pairs_text(20, 0), pairs_text(1, 2), pairs_text(0, 0)
    ('20 must-links', '1 must-link and 2 cannot-links', 'no pairs')
    """
    kinds = ((n_must, "must-link"), (n_cannot, "cannot-link"))
    return " and ".join(many(number, kind) for number, kind in kinds if number) or "no pairs"


def shortened(text: str, length: int = 40, dots: str = "...") -> str:
    """Shorten a long text in the middle, because names often differ at their ends.

    Examples
    --------
    >>> shortened("sensor_12_mean_of_the_temperature", 20)
    'sensor_12_...erature'
    """
    head, tail = text[: length // 2], text[length // 2 + len(dots) - length :]
    return text if len(text) <= length else f"{head}{dots}{tail}"


def about_constant(n_constant: int, n_features: int) -> list[str]:
    """Return a note on constant features, if there are any.

    Examples
    --------
    >>> about_constant(2, 11), about_constant(0, 11)
    (['2 of 11 features are constant and carry no information.'], [])
    """
    verbs = "is constant and carries" if n_constant == 1 else "are constant and carry"
    note = f"{n_constant:,} of {many(n_features, 'feature')} {verbs} no information."
    return [note] if n_constant else []


def nearest(name: str, known: Iterable[str]) -> str:
    """Suggest the known name that was probably meant, or list the known names.

    Examples
    --------
    >>> nearest("speces", ["species", "width"])
    "Did you mean 'species'?"
    >>> nearest("zzz", ["species", "width"])
    'There are: species, width.'
    """
    names = list(dict.fromkeys(known))
    folded = {other.casefold(): other for other in reversed(names)}
    close = difflib.get_close_matches(name.casefold(), folded, n=1)
    if close:
        return f"Did you mean {shown(folded[close[0]])}?"
    listed = [other if other.isprintable() else repr(other) for other in names]
    return f"There are: {first_few(listed, 12)}." if listed else "There are none."


def shown(value: object, width: int = 40) -> str:
    """Quote a value from a file, shortened and with control characters escaped."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # such as a number of 5,000 digits
        return f"<{type(value).__name__}>"
    return shortened(text, width)
