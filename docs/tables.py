"""Generate the lists of methods and references: `python docs/tables.py --write`.

The lists come from the classes (`describe`, docstrings), the bibliography, every `__all__` and
the first sentences of the decision pages. Each list is written between two marker comments.
Without `--write`, the command only names the pages that are out of date.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import linkselect
from linkselect import cluster, selectors
from linkselect._bibliography import Reference, bibliography
from linkselect.selectors._method import Method, describe

DOCS = Path(__file__).parent
PAGES = [
    "methods.md",
    "references.md",
    "guide/supervision.md",
    "guide/large_data.md",
    "api/index.rst",
    "decisions/README.md",
    "citing.md",
]
# The modules that users may import from, in addition to the package itself.
PUBLIC = (
    "pairs",
    "selectors",
    "cluster",
    "evaluation",
    "asking",
    "plot",
    "report",
    "labelling",
    "anndata",
    "scores",
    "graphs",
    "reproduction",
    "cli",
)
# In Markdown and in reStructuredText.
MARKED = re.compile(
    r"^(<!-- generated: (?P<md>[a-z ]+) -->|\.\. generated: (?P<rst>[a-z ]+))\n"
    r".*?^(?P<end><!-- end -->|\.\. end)$",
    flags=re.DOTALL | re.MULTILINE,
)
KINDS = {
    "nothing": ("unsupervised", "ignored", "ignored"),
    "labels": ("supervised", "needed; -1 is a class like any other", "ignored"),
    "some labels": ("from some labels", "needed; -1, None or NaN: unlabelled", "ignored"),
    "pairs": ("from pairs", "-1, None or NaN: unlabelled", "used, and then y is ignored"),
    "wrappers": ("wrappers", "what the selector needs", "what the selector needs"),
}
# Sentences of docstrings that begin like this are details, not part of a formula.
REMARKS = (
    "The label -1",
    "Values ",
    "A link of weight w",
    "The links have a combined weight",
    "If links have weights",
    "Because merit",
)
HEADINGS = {
    "nothing": "Without supervision",
    "labels": "From all labels",
    "some labels": "From some labels",
    "pairs": "From pairs, labels or both",
    "wrappers": "Around another selector",
}


def kind_of(selector: type) -> str:
    """Return which supervision a method uses, or "wrappers" if it wraps another selector."""
    method = describe(selector)
    return "wrappers" if method.wraps else method.sees


def methods(*kinds: str) -> list[type]:
    """Return the selectors of some kinds (default: all), sorted by kind and then by name."""
    public = [getattr(selectors, name) for name in selectors.__all__]
    chosen = [one for one in public if hasattr(one, "sees") and kind_of(one) in (kinds or KINDS)]
    return sorted(chosen, key=lambda one: (list(KINDS).index(kind_of(one)), one.__name__.lower()))


def variants(selector: type) -> Iterator[tuple[str, Method]]:
    """Yield each parameter setting that changes the description, and the changed description."""
    usual = describe(selector)
    for parameter, constraints in selector._parameter_constraints.items():
        options = {option for one in constraints for option in getattr(one, "options", ())}
        for option in sorted(options, key=str):
            if usual.wraps:
                continue
            method = describe(selector(**{parameter: option}))
            if method != usual:
                shown = f'"{option}"' if isinstance(option, str) else option
                yield f"{parameter}={shown}", method


def method_entries() -> list[str]:
    """Describe every selector in a section of its own: task, formula, direction and papers."""
    lines = []
    for kind, heading in HEADINGS.items():
        lines += ["", f"## {heading}"]
        for one in methods(kind):
            method = describe(one)
            facts = ["A search"] if method.searches else []
            if kind == "pairs":
                facts.append("pairs or labels" if method.needs else "pairs, labels or neither")
            facts.append(direction(one))
            line = " · ".join([*facts, *(link(bibliography()[key]) for key in method.references)])
            text = f"{summary(one)} {formula(one)}".strip()
            lines += ["", f"### {one.__name__}", "", text, "", line[0].upper() + line[1:]]
    return lines[1:]


def sees_table() -> list[str]:
    """Group the selectors by how they use y and pairs."""
    rows = [
        [kind, " ".join(f"`{one.__name__}`" for one in methods(sees)), labels, pairs]
        for sees, (kind, labels, pairs) in KINDS.items()
    ]
    return markdown(["kind", "selectors", "y", "pairs"], rows)


def needs_table() -> list[str]:
    """Group the selectors that accept pairs by the supervision they require."""
    by_need: dict[tuple[str, ...], list[str]] = {}
    for one in methods("pairs"):
        by_need.setdefault(describe(one).needs, []).append(f"`{one.__name__}`")
        for given, method in variants(one):
            if method.needs != describe(one).needs:
                by_need.setdefault(method.needs, []).append(f"`{one.__name__}({given})`")
    ordered = sorted(by_need.items(), key=lambda item: (-len(item[0]), item[0]))
    rows = [[" and ".join(need) or "nothing", ", ".join(names)] for need, names in ordered]
    return markdown(["requires", "selectors"], rows)


def kinds_table() -> list[str]:
    """List which kinds of X every selector accepts."""
    rows = [
        [
            f"`{one.__name__}`",
            "yes" if "device" in describe(one).works_on else "no",
            reads_parts(one),
        ]
        for one in methods()
    ]
    outside = "Parquet, Zarr, HDF5, `.npy`, large memory map, dask array"
    return markdown(["selector", "torch, cupy", outside], rows)


def reads_parts(selector: type) -> str:
    """Return whether a selector can read stored samples in parts, and how exact it then is."""
    if isinstance(inspect.getattr_static(selector, "works_on"), property):
        return "if all its members do"
    if "parts" not in describe(selector).works_on:
        return "no"
    return "neighbours of `max_queries` rows" if hasattr(selector, "_queries") else "exact"


def references() -> list[str]:
    """List the bibliography by authors, with the classes that cite each entry."""
    classes = [*methods(), *(getattr(cluster, name) for name in cluster.__all__)]
    lines = []
    for one in sorted(bibliography().values(), key=lambda one: citation(one).lower()):
        doi = f" [doi:{one.doi}](https://doi.org/{one.doi})" if one.doi else ""
        citing = [f"`{c.__name__}`" for c in classes if one.key in getattr(c, "references", ())]
        used = f"\n\nCited by {', '.join(citing)}." if citing else ""
        text = f"{one.authors}. {one.title}. *{one.venue}*, {one.year}.{doi}{used}"
        lines += [f"## {citation(one)}", "", text, ""]
    return lines[:-1]


def decisions() -> list[str]:
    """List the decision pages with their first sentences, in the order of the table of contents."""
    folder = DOCS / "decisions"
    contents = re.search(
        r"\{toctree\}\n:hidden:\n\n(.*?)\n```", read(folder / "README.md"), re.DOTALL
    )
    lines = [""]
    for page in contents[1].split() if contents else ():
        heading, first = read(folder / f"{page}.md").split("\n\n")[:2]
        title = heading.removeprefix("# ").removeprefix("Decisions: ")
        sentence = re.split(r"(?<=\.)\s+(?=[A-Z])", " ".join(first.split()))[0]
        lines.append(f"- [{title[0].upper()}{title[1:]}]({page}.md): {sentence}")
    return lines


def bibtex() -> str:
    """Return the references as BibTeX entries."""
    entries = []
    for key, one in sorted(bibliography().items()):
        authors = one.authors.replace(", ", " and ")
        fields = {"author": authors, "title": f"{{{one.title}}}", "howpublished": one.venue}
        fields |= {"year": one.year} | ({"doi": one.doi} if one.doi else {})
        lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
        entries.append("\n".join([f"@misc{{{key},", *lines, "}"]))
    return "\n\n".join(entries) + "\n"


def citation_entry() -> list[str]:
    """Return the BibTeX entry for this version."""
    return [
        "```bibtex",
        "@misc{linkselect,",
        "  author = {{The linkselect developers}},",
        "  title = {linkselect: feature selection from weak supervision},",
        f"  note = {{Version {linkselect.__version__}}},",
        "}",
        "```",
    ]


def group(*kinds: str) -> Callable[[], list[str]]:
    """Return a function that lists the selectors of some kinds for autosummary."""

    def lines() -> list[str]:
        more = ["AsScoreFunction"] if "wrappers" in kinds else []
        return autosummary([one.__name__ for one in methods(*kinds)] + more)

    return lines


def members(part: str) -> Callable[[], list[str]]:
    """Return a function that lists the names found only in a subpackage, for autosummary."""

    def lines() -> list[str]:
        names = sorted(set(import_module(f"linkselect.{part}").__all__) - {*linkselect.__all__})
        return autosummary([f"{part}.{name}" for name in names])

    return lines


def autosummary(names: list[str]) -> list[str]:
    """Return the lines of an autosummary list."""
    options = ["   :toctree: generated", "   :nosignatures:"]
    return ["", ".. autosummary::", *options, "", *(f"   {name}" for name in names)]


TABLES: dict[str, Callable[[], list[str]]] = {
    "methods": method_entries,
    "sees": sees_table,
    "needs": needs_table,
    "kinds": kinds_table,
    "references": references,
    "decisions": decisions,
    "citation": citation_entry,
    "unsupervised": group("nothing"),
    "from pairs": group("pairs", "some labels"),
    "from labels": group("labels"),
    "wrappers": group("wrappers"),
    "of pairs": members("pairs"),
}


def summary(documented: object) -> str:
    """Return the first line of a docstring."""
    return inspect.cleandoc(documented.__doc__ or "").splitlines()[0]


def formula(selector: type) -> str:
    """Return the part of a docstring that defines the score or, for a search, the choice."""
    text = inspect.cleandoc(selector.__doc__ or "").split("\nParameters\n---")[0]
    text = text.partition("\n\n")[2]
    ways = list(re.finditer(r";\s+(smaller|larger)\s+is\s+better", text))
    if ways:
        text = text[: ways[-1].end() if len(ways) > 1 else ways[-1].start()] + "."
    elif describe(selector).searches:  # a choice, not one score per feature
        text = text.partition("\n\n")[0]
    elif describe(selector).wraps:
        return ""
    else:
        raise ValueError(
            f"The docstring of {selector.__name__} does not state which direction is better. "
            "Add '; smaller is better' or '; larger is better' after the formula."
        )
    sentences = re.split(r"(?<=\.)\s+(?=[A-Z])", " ".join(text.replace("\n- ", "\n").split()))
    return " ".join(one for one in sentences if not one.startswith(REMARKS))


def direction(selector: type) -> str:
    """Return whether larger or smaller scores are better, also if a parameter decides."""
    if describe(selector).wraps:
        around = (selectors.VarianceScore(), selectors.LaplacianScore())
        if len({describe(selector(one)).greater_is_better for one in around}) == 2:
            return "direction of the wrapped selector"
    usual = describe(selector).greater_is_better
    others = [f"`{given}`" for given, one in variants(selector) if one.greater_is_better != usual]
    better, opposite = ("larger", "smaller") if usual else ("smaller", "larger")
    changed = f" ({opposite} with {', '.join(others)})" if others else ""
    return f"{better} is better{changed}"


def citation(reference: Reference) -> str:
    """Return authors and year: `He, Cai & Niyogi (2005)`."""
    names = [name.split()[-1] for name in re.split(r", | and ", reference.authors)]
    if len(names) > 3:
        return f"{names[0]} et al. ({reference.year})"
    return " & ".join(filter(None, [", ".join(names[:-1]), names[-1]])) + f" ({reference.year})"


def link(reference: Reference) -> str:
    """Return a citation with a link to its heading on the page of references."""
    return f"[{citation(reference)}](references.md#{anchor(citation(reference))})"


def anchor(heading: str) -> str:
    """Return the anchor that GitHub and Sphinx give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def markdown(head: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def read(page: Path) -> str:
    """Return the text of a page."""
    return page.read_text(encoding="utf-8")


def generated(text: str) -> str:
    """Return a page with all its generated parts updated."""

    def renew(found: re.Match[str]) -> str:
        return "\n".join([found[1], *TABLES[found["md"] or found["rst"]](), "", found["end"]])

    return MARKED.sub(renew, text)


def stale() -> dict[Path, str]:
    """Return the pages that are out of date, each with its new text."""
    new = {DOCS / page: generated(read(DOCS / page)) for page in PAGES}
    new[DOCS / "_static" / "references.bib"] = bibtex()
    return {page: text for page, text in new.items() if not page.exists() or text != read(page)}


def main(arguments: list[str] | None = None) -> int:
    """Print which pages are out of date, or update them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the pages")
    write = parser.parse_args(arguments).write
    old = stale()
    for page, text in old.items():
        print(page.relative_to(DOCS), "is written" if write else "is stale")
        if write:
            page.write_text(text, encoding="utf-8")
    return int(bool(old) and not write)


if __name__ == "__main__":
    sys.exit(main())
