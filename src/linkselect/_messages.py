"""What we say: errors in two parts, warnings at the user's line, and counted things."""

import difflib
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence

# Whose lines a warning does not point to: joblib calls the steps of a Pipeline.
OUR_PACKAGES = {"linkselect", "sklearn", "joblib"}


class GuidedError(Exception):
    """An error that states the problem, and apart from it the way out in Python.

    Another interface, such as the command line, shows the problem with a way out of its own.

    Parameters
    ----------
    problem : str
        What is wrong: the value and the rule, in whole sentences.
    hint : str
        What to write instead.
    parameter : str
        The name of the parameter at fault; "X" for the samples. Empty if it is none alone.

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
        # Errors cross processes, and an exception is made again from its arguments.
        return type(self), (self.problem, self.hint, self.parameter)


class GuidedValueError(GuidedError, ValueError):
    """A value that cannot be used, and what to pass instead."""


class GuidedTypeError(GuidedError, TypeError):
    """A value of a type that cannot be used, and what to pass instead."""


class ConstantFeaturesWarning(UserWarning):
    """Features with one value only; a selector of several says it once for all of them."""


class RoundedFeaturesWarning(UserWarning):
    """Features of whole numbers that float64 does not hold."""


class LeftOutPairsWarning(UserWarning):
    """Pairs that are left out: they contradict others, or name samples that are not there."""


def warn_user(
    problem: str,
    category: type[Warning] = UserWarning,
    *,
    hint: str = "",
    settings: Mapping[str, str] | None = None,
) -> None:
    """Warn at the first line outside linkselect, scikit-learn and joblib that led here.

    Parameters
    ----------
    problem : str
        What is odd, in whole sentences.
    category : type of Warning
        What kind of warning.
    hint : str
        What to write instead, in Python.
    settings : mapping of str to str, optional
        What to set for a way out in another interface: a value for parameters, or "VALUE"; for "X"
        how to scale the samples.
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
    """Count things.

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
    """List names, at most so many.

    Examples
    --------
    >>> first_few(["a", "b", "c"], 2), first_few(["a", "b"], 2)
    ('a, b and 1 more', 'a, b')
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def pairs_text(n_must: int, n_cannot: int) -> str:
    """Count pairs, without a kind that there is none of.

    Examples
    --------
    >>> pairs_text(20, 0), pairs_text(1, 2), pairs_text(0, 0)
    ('20 must-links', '1 must-link and 2 cannot-links', 'no pairs')
    """
    kinds = ((n_must, "must-link"), (n_cannot, "cannot-link"))
    return " and ".join(many(number, kind) for number, kind in kinds if number) or "no pairs"


def shortened(text: str, length: int = 40) -> str:
    """Shorten a long text in its middle, because names often differ at one of their ends.

    Examples
    --------
    >>> shortened("sensor_12_mean_of_the_temperature", 20)
    'sensor_1...mperature'
    """
    head = (length - 3) // 2
    return text if len(text) <= length else f"{text[:head]}...{text[head + 3 - length :]}"


def nearest(name: str, known: Iterable[str]) -> str:
    """Say which known name was probably meant, or which ones there are.

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
    """Quote a value from a file, cut to a width, with control characters made visible."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # such as a number of 5,000 digits
        return f"<{type(value).__name__}>"
    return shortened(text, width)
