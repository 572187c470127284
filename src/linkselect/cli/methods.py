"""`linkselect methods`: what there is to choose from."""

from __future__ import annotations

from typing import Any

from linkselect.cli.choices import Method, method_named
from linkselect.cli.choices import methods as all_methods
from linkselect.cli.output import say, say_json, text_table

__all__ = ["methods"]


def methods(name: str | None = None, /, *, json: bool = False) -> None:
    """List the methods, what each one needs, and what it does.

    Parameters
    ----------
    name
        Show one method with its parameters.
    json
        Print JSON and nothing else.
    """
    found = all_methods().values() if name is None else [method_named(name)]
    if json:
        say_json([_plain(method) for method in found])
    elif name is None:
        rows = [[one.name, _needs(one), one.summary] for one in found]
        say(text_table(["method", "needs", "what it does"], rows, left=[0, 1, 2]))
        say("\n`linkselect methods NAME` shows the parameters of one of them.")
    else:
        say(_page(method_named(name)))


def _needs(method: Method) -> str:
    helped = method.needs == "nothing" and method.uses != "nothing"
    return f"nothing; {method.uses} help" if helped else method.needs


def _plain(method: Method) -> dict[str, Any]:
    return {
        "name": method.name,
        "class": method.selector.__name__,
        "needs": method.needs,
        "uses": method.uses,
        "summary": method.summary,
        "larger_is_better": bool(method.selector.greater_is_better),
        "parameters": method.parameters,
    }


def _page(method: Method) -> str:
    direction = "Larger" if method.selector.greater_is_better else "Smaller"
    lines = [
        f"{method.name} ({method.selector.__name__})",
        method.summary,
        "",
        f"Needs: {_needs(method)}. {direction} scores are better.",
        "",
    ]
    rows = [[name, str(default)] for name, default in method.parameters.items()]
    lines.append(text_table(["--set", "default"], rows, left=[0, 1]) if rows else "No parameters.")
    return "\n".join(lines)
