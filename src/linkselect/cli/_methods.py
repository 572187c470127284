"""`linkselect methods`: list the available methods."""

from typing import Any

from linkselect.cli._choices import Choice, method_named
from linkselect.cli._choices import methods as all_methods
from linkselect.cli._terminal import say, say_json, text_table


def methods(name: str | None = None, /, *, json: bool = False) -> None:
    """List the methods, each with the supervision it needs and a short description.

    Parameters
    ----------
    name
        Show this method with its parameters.
    json
        Print only JSON.
    """
    found = all_methods().values() if name is None else [method_named(name)]
    if json:
        say_json([_plain(choice) for choice in found])
    elif name is None:
        rows = [[one.name, _needs(one), one.summary] for one in found]
        say(text_table(["method", "needs", "what it does"], rows, left=[0, 1, 2]))
        say("\n`linkselect methods NAME` shows the parameters of a method.")
    else:
        say(_page(method_named(name)))


def _needs(choice: Choice) -> str:
    helped = choice.needs == "nothing" and choice.uses != "nothing"
    return f"nothing ({choice.uses} optional)" if helped else choice.needs


def _plain(choice: Choice) -> dict[str, Any]:
    return {
        "name": choice.name,
        "class": choice.selector.__name__,
        "needs": choice.needs,
        "uses": choice.uses,
        "summary": choice.summary,
        "larger_is_better": choice.method.greater_is_better,
        "parameters": choice.parameters,
    }


def _page(choice: Choice) -> str:
    direction = "Larger" if choice.method.greater_is_better else "Smaller"
    lines = [
        f"{choice.name} ({choice.selector.__name__})",
        choice.summary,
        "",
        f"Needs: {_needs(choice)}. {direction} scores are better.",
        "",
    ]
    rows = [[name, str(default)] for name, default in choice.parameters.items()]
    lines.append(text_table(["--set", "default"], rows, left=[0, 1]) if rows else "No parameters.")
    return "\n".join(lines)
