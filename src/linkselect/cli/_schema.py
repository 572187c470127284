"""`linkselect schema`: the JSON Schema of the results of other commands."""

import json
from importlib.resources import files
from typing import Literal

from linkselect.cli._terminal import say_json


def schema(command: Literal["rank", "compare"] = "rank", /) -> None:
    """Print the JSON Schema of the results that --json prints and --out writes.

    Parameters
    ----------
    command
        The command whose results are described.
    """
    text = (files("linkselect.cli") / "schemas" / f"{command}.json").read_text("utf-8")
    say_json(json.loads(text))
