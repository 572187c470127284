"""Methods and their parameters by the names that a person types."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from linkselect.cli.errors import UsageError, nearest
from linkselect.cli.startup import without_pandas

if TYPE_CHECKING:
    from linkselect.selectors.method import Method

__all__ = ["Choice", "default_method", "make_selector", "method_named", "methods"]


@dataclass(frozen=True)
class Choice:
    """A method that can be chosen, and what to know before it is used.

    Parameters
    ----------
    name : str
        What it is called on the command line.
    selector : type
        The class.
    method : Method
        The description of the class with default parameters.
    summary : str
        The first sentence of its documentation.
    parameters : dict
        The default of each parameter except the number of features.
    """

    name: str
    selector: Any
    method: Method
    summary: str
    parameters: dict[str, Any]

    @property
    def needs(self) -> Literal["nothing", "labels", "pairs or labels", "another method"]:
        """What it cannot work without."""
        if self.method.wraps:
            return "another method"
        if not self.method.needs:
            return "nothing"
        return "pairs or labels" if self.method.sees == "pairs" else "labels"

    @property
    def uses(self) -> Literal["nothing", "labels", "pairs or labels", "what that method uses"]:
        """What it looks at beside the features, if it is given."""
        if self.method.wraps:
            return "what that method uses"
        if self.method.sees == "nothing":
            return "nothing"
        return "pairs or labels" if self.method.sees == "pairs" else "labels"


def methods() -> dict[str, Choice]:
    """Return all selectors of the library by their names."""
    with without_pandas():
        from linkselect import selectors

    public = (getattr(selectors, name) for name in selectors.__all__)
    choices = [_choice(one) for one in public if hasattr(one, "sees")]
    return {choice.name: choice for choice in sorted(choices, key=lambda choice: choice.name)}


def _choice(selector: Any) -> Choice:
    from linkselect.selectors.method import describe

    signature = inspect.signature(selector).parameters
    parameters = {
        name: None if given.default is inspect.Parameter.empty else given.default
        for name, given in signature.items()
        if name != "n_features_to_select"
    }
    summary = (selector.__doc__ or "").strip().splitlines()[0]
    name = command_name(selector.__name__)
    return Choice(name, selector, describe(selector), summary, parameters)


def command_name(class_name: str) -> str:
    """Turn the name of a class into the name of a method.

    Examples
    --------
    >>> [command_name(name) for name in ("LaplacianScore", "ReliefF", "NearestNeighborSFS")]
    ['laplacian', 'relieff', 'nearest_neighbor_sfs']
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z][A-Za-z])", "_", class_name).lower()
    return words.removesuffix("_score")


def method_named(name: str) -> Choice:
    """Find a method by its name, or by that of its class."""
    known = methods()
    wanted = name.strip().lower().replace("-", "_")
    if wanted in known:
        return known[wanted]
    for choice in known.values():
        if choice.selector.__name__.lower() == wanted.removesuffix("_score"):
            return choice
    raise UsageError(
        f"There is no method {name!r}. {nearest(wanted, known)} "
        "`linkselect methods` says what each one does."
    )


def default_method(labelled: str, pairs: bool) -> str:
    """Choose a method by what is known: pairs, labels of "all", "some" or "no" rows.

    From pairs and from some labels it is what was ahead on average in docs/pairs_alone.md.
    """
    if pairs:
        return "consensus_selector"
    return {"all": "fisher", "some": "scgs", "no": "laplacian"}[labelled]


def make_selector(
    choice: Choice, settings: Iterable[str], n_features: Any = "auto", seed: int = 0
) -> Any:
    """Make the selector of a method with parameters given as `name=value`."""
    given = dict(_parse(setting, choice) for setting in settings)
    if "random_state" in choice.parameters:
        given.setdefault("random_state", seed)
    if choice.method.wraps and given.get("estimator") is None:
        raise UsageError(
            f"{choice.name} works around another method. Name it, for example: "
            f"--method {choice.name} --set estimator=laplacian"
        )
    return choice.selector(n_features_to_select=n_features, **given)


def _parse(setting: str, choice: Choice) -> tuple[str, Any]:
    name, equals, text = setting.partition("=")
    if not equals:
        raise UsageError(f"--set {setting}: write --set NAME=VALUE, such as --set sigma=1.")
    if name in ("n_features_to_select", "n_features"):
        raise UsageError("The number of features is set by --n-features.")
    if name not in choice.parameters:
        hint = nearest(name, choice.parameters) if choice.parameters else "It has none."
        raise UsageError(f"{choice.name} has no parameter {name!r} (--set {setting}). {hint}")
    if name == "estimator":
        return name, make_selector(method_named(text), ())
    return name, text if text in _named_values(choice, name) else _value(text)


def _named_values(choice: Choice, parameter: str) -> set[Any]:
    """Return the values that a parameter may have by name; some look like numbers."""
    constraints = choice.selector._parameter_constraints.get(parameter, ())
    return {value for one in constraints for value in getattr(one, "options", ())}


def _value(text: str) -> Any:
    """Read a number, true, false or null as such and anything else as text."""
    try:
        return json.loads(text.lower() if text in ("True", "False") else text)
    except json.JSONDecodeError:
        return None if text == "None" else text
