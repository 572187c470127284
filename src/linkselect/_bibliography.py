"""References that are cited in docstrings, the documentation and reports."""

import inspect
import re
import textwrap
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

WIDTH = 96
# The sections that follow "Attributes" and "References" in numpydoc's order.
_BEHIND_ATTRIBUTES = ("Methods", "See Also", "Notes", "References", "Examples")
_BEHIND_REFERENCES = ("Examples",)


@dataclass(frozen=True)
class Reference:
    """Bibliographic data of a paper or a book."""

    key: str
    authors: str
    title: str
    venue: str
    year: int
    doi: str = ""

    def __str__(self) -> str:
        doi = f" doi:{self.doi}" if self.doi else ""
        return f"{self.authors}. {self.title}. {self.venue}, {self.year}.{doi}"


@cache
def bibliography() -> dict[str, Reference]:
    """Return a dictionary of all references by key."""
    text = files("linkselect").joinpath("bibliography.toml").read_text(encoding="utf-8")
    return {key: Reference(key, **entry) for key, entry in tomllib.loads(text).items()}


def cited(keys: Iterable[str]) -> list[Reference]:
    """Return the references with the given keys, in the order of the keys.

    Examples
    --------
    >>> print(cited(["he2005"])[0])  # doctest: +ELLIPSIS
    X. He, D. Cai and P. Niyogi. Laplacian score for feature selection. Advances in ... 2005.
    """
    return [bibliography()[key] for key in keys]


def cites(*keys: str) -> Callable[[Function], Function]:
    """Add the references with the given keys to the docstring of a function."""

    def decorate(function: Function) -> Function:
        if function.__doc__:
            function.__doc__ = with_references(function.__doc__, keys)
        return function

    return decorate


def with_references(docstring: str, keys: Iterable[str]) -> str:
    """Add a section "References" to a numpydoc docstring that has no such section."""
    entries = [
        textwrap.fill(f".. [{number}] {reference}", WIDTH, subsequent_indent="   ")
        for number, reference in enumerate(cited(keys), start=1)
    ]
    text = inspect.cleandoc(docstring)
    if not entries or _heading("References") in f"\n{text}\n":
        return text
    return _inserted(text, _section("References", "\n".join(entries)), _BEHIND_REFERENCES)


def with_attributes(docstring: str, inherited: str) -> str:
    """Add the attributes that are documented only in the docstring of the parent class."""
    text = inspect.cleandoc(docstring)
    own = _entries(text)
    missing = "\n".join(
        entry for name, entry in _entries(inspect.cleandoc(inherited)).items() if name not in own
    )
    if not missing:
        return text
    if not own:
        return _inserted(text, _section("Attributes", missing), _BEHIND_ATTRIBUTES)
    last = list(own.values())[-1]
    # Replace only after the heading: a parameter may have the same description.
    before, heading, behind = text.partition(_heading("Attributes"))
    return before + heading + behind.replace(last, f"{last}\n{missing}", 1)


def _heading(title: str) -> str:
    return f"\n{title}\n{'-' * len(title)}\n"


def _section(title: str, content: str) -> str:
    return f"{_heading(title)}{content}\n".lstrip("\n")


def _inserted(text: str, section: str, behind: tuple[str, ...]) -> str:
    """Insert a section before the first of the sections in `behind`, or at the end of the text."""
    places = [text.find(_heading(title)) for title in behind]
    first = min((place for place in places if place >= 0), default=len(text))
    before, rest = text[:first].rstrip("\n"), text[first:].lstrip("\n")
    return f"{before}\n\n{section}\n{rest}".rstrip("\n")


def _entries(text: str) -> dict[str, str]:
    """Return the entries of the section "Attributes" of a docstring by attribute name."""
    _, found, content = f"\n{text}\n".partition(_heading("Attributes"))
    if not found:
        return {}
    content = re.split(r"\n\n\S[^\n]*\n-+\n", content)[0].rstrip("\n")
    parts = re.split(r"\n(?=\S)", content)
    return {part.split(" :")[0]: part for part in parts}
