"""Methods and their parameters by the names that a person types."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkselect.cli.errors import UsageError, nearest
from linkselect.cli.startup import without_pandas

__all__ = ["Method", "default_method", "make_selector", "method_named", "methods"]


@dataclass(frozen=True)
class Method:
    """A selector class, and what to know before it is used.

    Parameters
    ----------
    name : str
        What it is called on the command line.
    selector : type
        The class.
    needs : {"nothing", "labels", "pairs or labels", "another method"}
        What it cannot work without.
    uses : {"nothing", "labels", "pairs or labels", "what that method uses"}
        What it looks at besides the features, if it is there.
    summary : str
        The first sentence of its documentation.
    parameters : dict
        The default of each parameter, but for the number of features.
    """

    name: str
    selector: Any
    needs: str
    uses: str
    summary: str
    parameters: dict[str, Any]

    @property
    def takes_some_labels(self) -> bool:
        """Whether rows without a label may be among those with one."""
        from linkselect.selectors.selector import LabelSelector

        if not issubclass(self.selector, LabelSelector):
            return True
        try:
            self.selector()._check_data([[0.0], [1.0], [2.0]], np.array([0, 1, None]))
        except ValueError:
            return False
        return True


def methods() -> dict[str, Method]:
    """Return all selectors of the library by their names."""
    with without_pandas():
        import linkselect
        from linkselect.selectors.selector import RankingSelector

        found = [getattr(linkselect, name) for name in linkselect.__all__]
    selectors = (one for one in found if isinstance(one, type) and issubclass(one, RankingSelector))
    return {method.name: method for method in sorted(map(_describe, selectors), key=_by_name)}


def _by_name(method: Method) -> str:
    return method.name


def _describe(selector: Any) -> Method:
    signature = inspect.signature(selector).parameters
    parameters = {
        name: None if given.default is inspect.Parameter.empty else given.default
        for name, given in signature.items()
        if name != "n_features_to_select"
    }
    summary = (selector.__doc__ or "").strip().splitlines()[0]
    needs, uses = _needs(selector, parameters)
    name = command_name(selector.__name__)
    return Method(name, selector, needs, uses, summary, parameters)


def command_name(class_name: str) -> str:
    """Turn the name of a class into the name of a method.

    Examples
    --------
    >>> [command_name(name) for name in ("LaplacianScore", "ReliefF", "NearestNeighborSFS")]
    ['laplacian', 'relieff', 'nearest_neighbor_sfs']
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z][A-Za-z])", "_", class_name).lower()
    return words.removesuffix("_score")


def _needs(selector: Any, parameters: dict[str, Any]) -> tuple[str, str]:
    from linkselect.selectors.selector import LabelSelector, PairSelector

    if "estimator" in parameters:
        return "another method", "what that method uses"
    if issubclass(selector, LabelSelector):
        return "labels", "labels"
    if issubclass(selector, PairSelector):
        return "pairs or labels" if selector()._needs else "nothing", "pairs or labels"
    return "nothing", "nothing"


def method_named(name: str) -> Method:
    """Find a method by its name, or by that of its class."""
    known = methods()
    wanted = name.strip().lower().replace("-", "_")
    if wanted in known:
        return known[wanted]
    for method in known.values():
        if method.selector.__name__.lower() == wanted.removesuffix("_score"):
            return method
    raise UsageError(
        f"There is no method {name!r}. {nearest(wanted, known)} "
        "`linkselect methods` says what each one does."
    )


def default_method(labelled: str, pairs: bool) -> str:
    """Choose a method by what is known: pairs, labels of "all", "some" or "no" rows."""
    if pairs or labelled == "some":
        return "compensated_laplacian"
    return {"all": "fisher", "no": "laplacian"}[labelled]


def make_selector(
    method: Method, settings: Iterable[str], n_features: Any = "auto", seed: int = 0
) -> Any:
    """Make the selector of a method with parameters given as `name=value`."""
    given = dict(_parse(setting, method) for setting in settings)
    if "random_state" in method.parameters:
        given.setdefault("random_state", seed)
    if method.needs == "another method" and given.get("estimator") is None:
        raise UsageError(
            f"{method.name} works around another method. Name it, for example: "
            f"--method {method.name} --set estimator=laplacian"
        )
    return method.selector(n_features_to_select=n_features, **given)


def _parse(setting: str, method: Method) -> tuple[str, Any]:
    name, equals, text = setting.partition("=")
    if not equals:
        raise UsageError(f"--set {setting}: write --set NAME=VALUE, such as --set sigma=1.")
    if name in ("n_features_to_select", "n_features"):
        raise UsageError("The number of features is set by --n-features.")
    if name not in method.parameters:
        hint = nearest(name, method.parameters) if method.parameters else "It has none."
        raise UsageError(f"{method.name} has no parameter {name!r} (--set {setting}). {hint}")
    if name == "estimator":
        return name, make_selector(method_named(text), ())
    return name, _value(text, method.parameters[name])


def _value(text: str, default: Any) -> Any:
    """Read a number, true, false or null as such and anything else as text."""
    if isinstance(default, str) and text in ("2011", "2014"):
        return text  # variants are named by their year
    try:
        return json.loads(text.lower() if text in ("True", "False") else text)
    except json.JSONDecodeError:
        return None if text == "None" else text
