"""`linkselect schema`: what is in the JSON that the commands write."""

from importlib.resources import files
from typing import Literal

from linkselect.cli._output import say


def schema(command: Literal["rank", "compare"] = "rank", /) -> None:
    """Print the JSON Schema of what a command prints with --json and writes with --out.

    Parameters
    ----------
    command
        Whose output.
    """
    say((files("linkselect.cli") / "schemas" / f"{command}.json").read_text("utf-8").rstrip())
