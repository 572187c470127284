"""Errors with hints, warnings that point to user code, and functions that format messages."""

import difflib
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence

# Warnings do not point to lines of these packages; joblib calls the steps of a Pipeline.
OUR_PACKAGES = {"linkselect", "sklearn", "joblib"}


class GuidedError(Exception):
    """An error that stores the problem and a hint for Python users separately.

    Other interfaces, such as the command line, show the problem with their own hints.

    Parameters
    ----------
    problem : str
        The invalid value and the rule that it violates, in complete sentences.
    hint : str
        Advice on how to correct the problem.
    parameter : str
        The name of the invalid parameter, or "X" for the samples. Empty if several parameters are
        involved.

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
    """Error for an invalid value, with a hint on what to pass instead."""


class GuidedTypeError(GuidedError, TypeError):
    """Error for a value of an invalid type, with a hint on what to pass instead."""


class ConstantFeaturesWarning(UserWarning):
    """Warning that some features are constant; combined selectors issue it only once."""


class RoundedFeaturesWarning(UserWarning):
    """Warning that features contain whole numbers that float64 cannot represent exactly."""


class LeftOutPairsWarning(UserWarning):
    """Warning that pairs are ignored because they contradict others or contain absent samples."""


def warn_user(
    problem: str,
    category: type[Warning] = UserWarning,
    *,
    hint: str = "",
    settings: Mapping[str, str] | None = None,
) -> None:
    """Issue a warning that points to user code, not to linkselect, scikit-learn or joblib.

    Parameters
    ----------
    problem : str
        Description of the problem, in complete sentences.
    category : type of Warning
        The category of the warning.
    hint : str
        Advice for Python users on how to solve the problem.
    settings : mapping of str to str, optional
        Parameters to change and their suggested values, from which other interfaces create their
        own hints. The value "VALUE" means that the user has to choose one. For "X", the value is a
        scaling of the samples.
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
    """Return a text that lists the first names and says how many others there are.

    Examples
    --------
    >>> first_few(["a", "b", "c"], 2), first_few(["a", "b"], 2)
    ('a, b and 1 more', 'a, b')
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def pairs_text(n_must: int, n_cannot: int) -> str:
    """State the numbers of must-links and cannot-links, and omit a kind that has no pairs.

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
    """Return a list with a note on constant features; empty if there are none.

    Examples
    --------
    >>> about_constant(2, 11), about_constant(0, 11)
    (['2 of 11 features are constant and carry no information.'], [])
    """
    verbs = "is constant and carries" if n_constant == 1 else "are constant and carry"
    note = f"{n_constant:,} of {many(n_features, 'feature')} {verbs} no information."
    return [note] if n_constant else []


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint that suggests a similar known name or lists the known names.

    Examples
    --------
    >>> nearest("speces", ["species", "width"])
    "Did you mean 'species'?"
    >>> nearest("zzz", ["species", "width"])
    'Available: species, width.'
    """
    names = list(dict.fromkeys(known))
    folded = {other.casefold(): other for other in reversed(names)}
    close = difflib.get_close_matches(name.casefold(), folded, n=1)
    if close:
        return f"Did you mean {shown(folded[close[0]])}?"
    listed = [other if other.isprintable() else repr(other) for other in names]
    return f"Available: {first_few(listed, 12)}." if listed else "None are available."


def shown(value: object, width: int = 40) -> str:
    """Return the quoted text of a value, shortened and with control characters escaped."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # such as a number of 5,000 digits
        return f"<{type(value).__name__}>"
    return shortened(text, width)
