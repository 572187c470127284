"""`linkselect schema`: the JSON Schema of the results of other commands."""

import json
from importlib.resources import files
from typing import Literal

from linkselect.cli._terminal import say_json


def schema(command: Literal["rank", "compare"] = "rank", /) -> None:
    """Print the JSON Schema of the result of a command, as --json prints it and --out writes it.

    Parameters
    ----------
    command
        The command.
    """
    text = (files("linkselect.cli") / "schemas" / f"{command}.json").read_text("utf-8")
    say_json(json.loads(text))
