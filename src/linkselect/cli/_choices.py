"""Look up methods and their parameters by their names on the command line."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from linkselect.cli._errors import UsageError, nearest, shown

if TYPE_CHECKING:
    from linkselect.selectors._method import Method

# A random seed in the range of NumPy's legacy generators, which scikit-learn uses.
Seed = Annotated[int, Parameter(validator=Number(gte=0, lt=2**32))]

# The default method for every kind of supervision: docs/pairs_alone.md and docs/which_method.md
# have the evidence. It accepts all finite values and tables that are read in parts.
DEFAULT_METHOD = "link_selector"


@dataclass(frozen=True)
class Choice:
    """A method that can be chosen, with its description.

    Parameters
    ----------
    name : str
        The name on the command line.
    selector : type
        The class.
    method : Method
        The description of the class with default parameters.
    summary : str
        The first line of the docstring of the class.
    parameters : dict
        The default of each parameter except the number of features.
    settings : tuple of str
        Parameters given in brackets after the name, as `name=value`.
    is_ours : bool
        Whether the class belongs to this library or has the same interface.
    """

    name: str
    selector: Any
    method: Method
    summary: str
    parameters: dict[str, Any]
    settings: tuple[str, ...] = ()
    is_ours: bool = True

    @property
    def options(self) -> dict[str, str]:
        """The option that sets each parameter."""
        settings = {name: f"--set {name}=VALUE" for name in self.parameters}
        settings |= {"sigma": "--set sigma=auto"} if "sigma" in settings else {}
        return {**settings, "on_conflict": "--set on_conflict=drop"}

    @property
    def needs(self) -> str:
        """The supervision that the method requires."""
        if self.method.wraps:
            return "another method"
        return self._seen if self.method.needs else "nothing"

    @property
    def uses(self) -> str:
        """The kinds of supervision that the method uses if they are given."""
        return "what that method uses" if self.method.wraps else self._seen

    @property
    def _seen(self) -> str:
        # Labels imply pairs, so a method that uses pairs accepts either.
        sees = self.method.sees
        return "pairs or labels" if sees == "pairs" else sees.removeprefix("some ")


def _classes() -> dict[str, Any]:
    """Return all selector classes of the library by their names on the command line."""
    from linkselect import selectors

    public = (getattr(selectors, name) for name in selectors.__all__)
    found = {command_name(one.__name__): one for one in public if hasattr(one, "sees")}
    return dict(sorted(found.items()))


def methods() -> dict[str, Choice]:
    """Return all methods of the library by name."""
    return {name: _choice(selector) for name, selector in _classes().items()}


def described(selector: Any) -> Method:
    """Describe a selector or a selector class; import the selectors only when this is called."""
    from linkselect.selectors._method import describe

    return describe(selector)


def _choice(selector: Any, is_ours: bool = True) -> Choice:
    from linkselect.selectors._method import Method

    parameters = {
        one.name: None if one.default is one.empty else one.default
        for one in inspect.signature(selector).parameters.values()
        if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        and not (is_ours and one.name == "n_features_to_select")
    }
    summary = (selector.__doc__ or "").strip().split("\n")[0]
    name = command_name(selector.__name__) if is_ours else selector.__name__
    # The supervision of a selector of another library is known only from its instance.
    method = described(selector) if is_ours else Method("labels")
    return Choice(name, selector, method, summary, parameters, is_ours=is_ours)


def command_name(class_name: str) -> str:
    """Convert a class name to a method name.

    Examples
    --------
    >>> [command_name(name) for name in ("LaplacianScore", "ReliefF", "NearestNeighborSFS")]
    ['laplacian', 'relieff', 'nearest_neighbor_sfs']
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z][A-Za-z])", "_", class_name).lower()
    return words.removesuffix("_score")


def method_named(text: str) -> Choice:
    """Find a method by its name, its class name, or `package.module:Class`.

    Selectors of scikit-learn can be named without their module. Parameters may follow in brackets,
    as in `relieff(n_neighbors=3)`.
    """
    name, bracket, rest = text.strip().partition("(")
    if bracket and not rest.endswith(")"):
        raise UsageError(
            f"{text!r}: the bracket is not closed. For example, write relieff(n_neighbors=3)."
        )
    choice = _imported(name.strip()) if ":" in name else _known(name.strip())
    settings = tuple(parts_of(rest.removesuffix(")")))
    if not settings:
        return choice
    # Without module names, which are long.
    typed = re.sub(r"[\w.]+:(?=\w)", "", ", ".join(settings))
    return replace(choice, settings=settings, name=f"{choice.name}({typed})")


def _known(name: str) -> Choice:
    known = _classes()
    wanted = name.lower().replace("-", "_")
    if wanted in known:
        return _choice(known[wanted])
    for selector in known.values():
        if selector.__name__.lower() == wanted.removesuffix("_score"):
            return _choice(selector)
    from sklearn import feature_selection

    if hasattr(getattr(feature_selection, name, None), "get_support"):
        return _imported(f"sklearn.feature_selection:{name}")
    raise UsageError(
        f"There is no method {name!r}. {nearest(wanted, known)} "
        "`linkselect methods` lists all methods; for a method of another library, write "
        "package.module:Class."
    )


def parts_of(text: str) -> list[str]:
    """Split a list at commas outside brackets.

    Examples
    --------
    >>> parts_of("fisher, relieff(n_neighbors=3,n_jobs=1),")
    ['fisher', 'relieff(n_neighbors=3,n_jobs=1)']
    """
    parts, depth = [""], 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts if part.strip()]


def _imported(name: str) -> Choice:
    """Describe the class `package.module:Class` of another library."""
    found = _from_module(name)
    if not (inspect.isclass(found) and hasattr(found, "fit") and hasattr(found, "get_support")):
        raise UsageError(
            f"{name} is not a selector class: a selector must implement fit and get_support, like "
            "sklearn.feature_selection:SelectKBest."
        )
    return replace(_choice(found, hasattr(found, "sees")), name=found.__name__)


def _from_module(name: str) -> Any:
    """Import `package.module:name`; the module may be in the current folder."""
    module, _, attribute = name.partition(":")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found = import_module(module)
    except ImportError as error:
        raise UsageError(
            f"{name}: cannot import the module {module!r} ({error}). Install it, or place it in "
            "the current folder."
        ) from error
    finally:
        sys.path.remove(here)
    if not hasattr(found, attribute):
        public = [one for one in dir(found) if not one.startswith("_")]
        raise UsageError(f"{module} has no {attribute!r}. {nearest(attribute, public)}")
    return getattr(found, attribute)


def make_selector(
    choice: Choice, settings: Sequence[str], seed: int = 0, scale: str = "minmax"
) -> Any:
    """Create the selector of a method with parameters given as `name=value`.

    If the default of `sigma` assumes features in [0, 1] and another scale is used, `sigma` is set
    to "auto".
    """
    given = dict(_parse(setting, choice, scale) for setting in (*choice.settings, *settings))
    if "random_state" in choice.parameters:
        given.setdefault("random_state", seed)
    if _width_adapts(choice, settings, scale):
        given["sigma"] = "auto"
    if choice.method.wraps and given.get("estimator") is None:
        name = choice.name
        raise UsageError(
            f"{name} wraps another method. Specify this method, as in {name}(estimator=laplacian)."
        )
    if choice.is_ours:
        return choice.selector(n_features_to_select="auto", **given)
    from linkselect.selectors._foreign import Ranked

    signature = inspect.signature(choice.selector).parameters
    lacking = [
        name
        for name in choice.parameters
        if name not in given and signature[name].default is inspect.Parameter.empty
    ]
    if lacking:
        raise UsageError(
            f"{choice.name} needs {' and '.join(lacking)}. For example, write '{choice.name}("
            f"{lacking[0]}=sklearn.linear_model:LogisticRegression)'."
        )
    return Ranked(choice.selector(**given), "auto")


def _width_adapts(choice: Choice, settings: Sequence[str], scale: str) -> bool:
    made_for_minmax = isinstance(choice.parameters.get("sigma"), float)
    typed = any(one.partition("=")[0] == "sigma" for one in (*choice.settings, *settings))
    return scale != "minmax" and choice.is_ours and made_for_minmax and not typed


def about_width(choices: Sequence[Choice], settings: Sequence[str], scale: str) -> list[str]:
    """Return notes on how a scale other than [0, 1] affects the methods."""
    notes = []
    if adapting := [one.name for one in choices if _width_adapts(one, settings, scale)]:
        notes.append(
            f"{', '.join(adapting)}: sigma is set from the distances between rows, because its "
            "default assumes features in [0, 1]. Set sigma to use another value."
        )
    if scale == "standard" and any(choice.name == "variance" for choice in choices):
        notes.append(
            "With --scale standard, all features have variance 1, so variance cannot rank them. "
            "Use --scale minmax or --scale none."
        )
    return notes


def _parse(setting: str, choice: Choice, scale: str) -> tuple[str, Any]:
    name, equals, text = setting.partition("=")
    if not equals:
        raise UsageError(f"--set {setting}: write --set NAME=VALUE, such as --set sigma=1.")
    if name in ("n_features_to_select", "n_features") and choice.is_ours:
        raise UsageError("Set the number of features with --n-features instead of --set.")
    if name not in choice.parameters:
        hint = nearest(name, choice.parameters) if choice.parameters else "It has none."
        raise UsageError(f"{choice.name} has no parameter {name!r} (--set {setting}). {hint}")
    if re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", text):
        found = _from_module(text)
        return name, found() if inspect.isclass(found) else found
    if name == "estimator" and choice.is_ours:
        return name, make_selector(method_named(text), (), scale=scale)
    # Some named options of a parameter look like numbers.
    constraints = getattr(choice.selector, "_parameter_constraints", {}).get(name, ())
    named = {option for one in constraints for option in getattr(one, "options", ())}
    value = text if text in named else _value(text)
    if name == "cv" and choice.is_ours and not isinstance(value, int | None):
        raise UsageError(f"--set {shown(setting)}: cv must be a number of folds, such as cv=5.")
    return name, value


def _value(text: str) -> Any:
    """Parse a number, true, false or null; return anything else as text."""
    try:
        found = json.loads(text.lower() if text in ("True", "False") else text)
    except (ValueError, RecursionError):  # also for thousands of digits or brackets
        return None if text == "None" else text
    too_large = isinstance(found, int) and abs(found) >= 2**63
    return float(found) if too_large else found
