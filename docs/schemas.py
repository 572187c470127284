"""Generate the JSON Schemas of the results: `python docs/schemas.py --write`.

The schemas follow from the types in `linkselect.report._schema` and those below. Without
`--write`, the command only names the files that are out of date.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
import types
from pathlib import Path
from typing import (
    Any,
    Literal,
    NotRequired,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from linkselect.report._schema import SCHEMA_VERSION, Summary


class CurveRecord(TypedDict):
    """A measure by number of features: mean, standard deviation, and all splits or folds."""

    n_features: list[int]
    mean: list[float]
    spread: list[float]
    values: list[list[float]]


class DifferenceRecord(TypedDict):
    """Mean difference between two methods, with p-values before and after Holm's correction."""

    better: str
    worse: str
    mean: float
    p: float | None
    p_adjusted: float | None


class HeldOutRecord(TypedDict):
    """Results on held-out pairs: AUCs, for which 0.5 is chance."""

    n_must: int
    n_cannot: int
    n_folds: int
    n_repeats: int
    chance: float
    mean_auc: dict[str, float]
    standard_error: dict[str, float | None]
    all_features: float
    differences: list[DifferenceRecord]
    auc: dict[str, CurveRecord]
    stability: dict[str, float | None]
    seconds: dict[str, float]


class ComparisonRecord(TypedDict):
    """Result of a comparison; values that require labels or pairs are null without them."""

    schema_version: int
    source: str
    classes: list[str]
    preparation: str
    call: str
    summary: list[str]
    methods: list[str]
    n_samples: int
    n_features: int
    n_splits: int | None
    test_size: float | None
    classifier: str | None
    mean_accuracy: dict[str, float] | None
    all_features: float | None
    differences: list[DifferenceRecord] | None
    accuracy: dict[str, CurveRecord] | None
    held_out_pairs: HeldOutRecord | None
    top: int
    spearman: list[list[float | None]]
    overlap: list[list[float | None]]
    stability: dict[str, float | None]
    seconds: dict[str, float]
    saw: dict[str, str]
    rankings: dict[str, list[str]]
    notes: list[str]


FOLDER = Path(__file__).parents[1] / "src" / "linkselect" / "cli" / "schemas"
RECORDS = {"rank": Summary, "compare": ComparisonRecord}
PLAIN = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def generated(command: str) -> str:
    """Return the JSON Schema of the result of a command, as text."""
    found: dict[str, Any] = {}
    top = definition(RECORDS[command], found)
    top["properties"]["schema_version"] = {"const": SCHEMA_VERSION}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Output of `linkselect {command} --json`",
        **top,
        "$defs": {name: found[name] for name in sorted(found)},
    }
    return json.dumps(schema, indent=2) + "\n"


def definition(kind: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Describe a typed dictionary, and add the types inside it to `found`."""
    hints = get_type_hints(kind, include_extras=True)
    required = [name for name, hint in hints.items() if get_origin(hint) is not NotRequired]
    return {
        "description": " ".join(inspect.cleandoc(kind.__doc__).split()),
        "type": "object",
        "properties": {name: described(hint, found) for name, hint in hints.items()},
        "required": required,
    }


def described(kind: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Describe a type."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in PLAIN:
        return {"type": PLAIN[kind]}
    if is_typeddict(kind):
        if kind.__name__ not in found:
            found[kind.__name__] = {}
            found[kind.__name__] = definition(kind, found)
        return {"$ref": f"#/$defs/{kind.__name__}"}
    if origin is NotRequired:
        return described(inner[0], found)
    if origin is Literal:
        return {"enum": list(inner)}
    if origin is list:
        return {"type": "array", "items": described(inner[0], found)}
    if origin is dict:
        return {"type": "object", "additionalProperties": described(inner[1], found)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [described(one, found) for one in inner]}
    raise TypeError(f"{kind!r} cannot be described.")


def stale() -> dict[Path, str]:
    """Return the files that are out of date, each with its new text."""
    wanted = {FOLDER / f"{command}.json": generated(command) for command in RECORDS}
    return {
        file: text
        for file, text in wanted.items()
        if not file.exists() or file.read_text("utf-8") != text
    }


def main() -> int:
    """Print which files are out of date, or update them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="update the files")
    write = parser.parse_args().write
    found = stale()
    for file, text in found.items():
        print(f"{file.name}: {'written' if write else 'stale'}")
        if write:
            file.write_text(text, "utf-8")
    return 0 if write or not found else 1


if __name__ == "__main__":
    sys.exit(main())
