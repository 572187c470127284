"""Generate the tables of methods, references, public names: `python docs/tables.py --write`.

What a table says is read off the classes (`describe`, docstrings), the bibliography, every
`__all__` and the headings of the pages of decisions, and is put between two marker comments.
Without `--write`, the command names the pages that are stale and changes nothing.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import UnionType

import linkselect
from linkselect import cluster, selectors
from linkselect._bibliography import Reference, bibliography
from linkselect.selectors._method import Method, describe

DOCS = Path(__file__).parent
PAGES = [
    "methods.md",
    "references.md",
    "guide/scores.md",
    "guide/supervision.md",
    "guide/large_data.md",
    "api/index.rst",
    "decisions/README.md",
    "public.md",
    "citing.md",
]
# The modules that users may import from, beside the package itself.
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


def kind_of(selector: type) -> str:
    """Return what a method sees, or that it wraps another one."""
    method = describe(selector)
    return "wrappers" if method.wraps else method.sees


def methods(*kinds: str) -> list[type]:
    """Return the selectors of some kinds, or of all: kind by kind, then by name."""
    public = [getattr(selectors, name) for name in selectors.__all__]
    chosen = [one for one in public if hasattr(one, "sees") and kind_of(one) in (kinds or KINDS)]
    return sorted(chosen, key=lambda one: (list(KINDS).index(kind_of(one)), one.__name__.lower()))


def variants(selector: type) -> Iterator[tuple[str, Method]]:
    """Yield the parameters, one at a time, with which the description is another one."""
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


def methods_table() -> list[str]:
    """List every selector: what it does, what it needs, which way is better, who proposed it."""
    rows = [
        [
            f"`{one.__name__}`" + (", a search" if describe(one).searches else ""),
            summary(one),
            needs(describe(one)),
            direction(one),
            ", ".join(link(bibliography()[key]) for key in describe(one).references),
        ]
        for one in methods()
    ]
    return markdown(["selector", "what it does", "works from", "better", "papers"], rows)


def scores_table() -> list[str]:
    """Give the score of a feature for every method that looks at one feature at a time."""
    single = [one for one in methods() if not describe(one).searches and kind_of(one) != "wrappers"]
    rows = [[f"`{one.__name__}`", formula(one), direction(one)] for one in single]
    return markdown(["selector", "score of a feature", "better"], rows)


def sees_table() -> list[str]:
    """Group the selectors by what they see of y and of pairs."""
    rows = [
        [kind, " ".join(f"`{one.__name__}`" for one in methods(sees)), labels, pairs]
        for sees, (kind, labels, pairs) in KINDS.items()
    ]
    return markdown(["kind", "selectors", "y", "pairs"], rows)


def needs_table() -> list[str]:
    """Group the selectors that take pairs by what they cannot do without."""
    by_need: dict[tuple[str, ...], list[str]] = {}
    for one in methods("pairs"):
        by_need.setdefault(describe(one).needs, []).append(f"`{one.__name__}`")
        for given, method in variants(one):
            if method.needs != describe(one).needs:
                by_need.setdefault(method.needs, []).append(f"`{one.__name__}({given})`")
    ordered = sorted(by_need.items(), key=lambda item: (-len(item[0]), item[0]))
    rows = [[" and ".join(need) or "nothing", ", ".join(names)] for need, names in ordered]
    return markdown(["what it cannot do without", "selectors"], rows)


def kinds_table() -> list[str]:
    """Say for every selector which kinds of X it takes."""
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
    """Say whether a selector reads samples outside memory by parts, and what it estimates."""
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
    """List the headings of the pages of decisions, in the order of their table of contents."""
    folder = DOCS / "decisions"
    contents = re.search(
        r"\{toctree\}\n:hidden:\n\n(.*?)\n```", read(folder / "README.md"), re.DOTALL
    )
    lines = []
    for page in contents[1].split() if contents else ():
        title, *headings = re.findall(r"^##? (.*)$", read(folder / f"{page}.md"), re.MULTILINE)
        lines += ["", f"## [{title.removeprefix('Decisions: ').capitalize()}]({page}.md)", ""]
        lines += [f"- [{heading}]({page}.md#{anchor(heading)})" for heading in headings]
    return lines


def public_names() -> list[str]:
    """List the names in the `__all__` of every public module, with what each one is."""
    lines = []
    for name in ("linkselect", *(f"linkselect.{part}" for part in PUBLIC)):
        module = import_module(name)
        seen = () if module is linkselect else linkselect.__all__
        own = sorted(set(module.__all__).difference(seen), key=str.lower)
        rows = [[f"`{one}`", what_it_is(getattr(module, one))] for one in own]
        table = markdown(["name", "what it is"], rows) if rows else ["All in `linkselect`, too."]
        lines += ["", f"### {name}", "", *table]
    return lines[1:]


def what_it_is(value: object) -> str:
    """Return the first line of a docstring, without references."""
    if isinstance(value, UnionType):
        return "A type, for annotations."
    return summary(value).replace(" [1]_", "") if callable(value) else "A constant."


def citation_entry() -> list[str]:
    """Give the entry of BibTeX for this version."""
    return [
        "```bibtex",
        "@software{linkselect,",
        "  author  = {{The linkselect developers}},",
        "  title   = {linkselect: feature selection from weak supervision},",
        f"  version = {{{linkselect.__version__}}},",
        "}",
        "```",
    ]


def group(*kinds: str) -> Callable[[], list[str]]:
    """Make a list for autosummary of the selectors of some kinds."""

    def lines() -> list[str]:
        more = ["AsScoreFunction"] if "wrappers" in kinds else []
        return autosummary([one.__name__ for one in methods(*kinds)] + more)

    return lines


def members(part: str) -> Callable[[], list[str]]:
    """Make a list for autosummary of the names that a part has and the package has not."""

    def lines() -> list[str]:
        names = sorted(set(import_module(f"linkselect.{part}").__all__) - {*linkselect.__all__})
        return autosummary([f"{part}.{name}" for name in names])

    return lines


def autosummary(names: list[str]) -> list[str]:
    """Return the lines of a list for autosummary."""
    return ["", ".. autosummary::", "   :toctree: generated", "", *(f"   {name}" for name in names)]


TABLES: dict[str, Callable[[], list[str]]] = {
    "methods": methods_table,
    "scores": scores_table,
    "sees": sees_table,
    "needs": needs_table,
    "kinds": kinds_table,
    "references": references,
    "decisions": decisions,
    "public names": public_names,
    "citation": citation_entry,
    "from nothing": group("nothing"),
    "from pairs": group("pairs", "some labels"),
    "from labels": group("labels"),
    "wrappers": group("wrappers"),
    "of pairs": members("pairs"),
    "of cluster": members("cluster"),
}


def summary(documented: object) -> str:
    """Return the first line of a docstring."""
    return inspect.cleandoc(documented.__doc__ or "").splitlines()[0]


def formula(selector: type) -> str:
    """Return what a docstring says between its first line and which way is better."""
    text = inspect.cleandoc(selector.__doc__ or "").split("\nParameters\n---")[0]
    text = text.partition("\n\n")[2]
    ways = list(re.finditer(r";\s+(smaller|larger)\s+is\s+better", text))
    if not ways:
        raise ValueError(
            f"The docstring of {selector.__name__} does not say which way is better. Write "
            "'; smaller is better' or '; larger is better' behind its formula."
        )
    last = ways[-1].end() if len(ways) > 1 else ways[-1].start()
    return " ".join(text[:last].replace("\n- ", "\n").split())


def needs(method: Method) -> str:
    """Say what a method works from, in words."""
    if method.wraps:
        return "what the selector needs"
    if method.sees != "pairs":
        return method.sees
    return "pairs or some labels" if method.needs else "pairs, some labels or nothing"


def direction(selector: type) -> str:
    """Say whether large or small scores are better; it may depend on a parameter."""
    if describe(selector).wraps:
        around = (selectors.VarianceScore(), selectors.LaplacianScore())
        if len({describe(selector(one)).greater_is_better for one in around}) == 2:
            return "as the selector"
    usual = describe(selector).greater_is_better
    others = [f"`{given}`" for given, one in variants(selector) if one.greater_is_better != usual]
    text = "large" if usual else "small"
    return f"{text}; {'small' if usual else 'large'} with {', '.join(others)}" if others else text


def citation(reference: Reference) -> str:
    """Return authors and year: `He, Cai & Niyogi (2005)`."""
    names = [name.split()[-1] for name in re.split(r", | and ", reference.authors)]
    if len(names) > 3:
        return f"{names[0]} et al. ({reference.year})"
    return " & ".join(filter(None, [", ".join(names[:-1]), names[-1]])) + f" ({reference.year})"


def link(reference: Reference) -> str:
    """Return a citation that leads to its heading on the page of references."""
    return f"[{citation(reference)}](references.md#{anchor(citation(reference))})"


def anchor(heading: str) -> str:
    """Return the anchor that GitHub and Sphinx give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def markdown(head: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a table."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def read(page: Path) -> str:
    """Return the text of a page."""
    return page.read_text(encoding="utf-8")


def generated(text: str) -> str:
    """Return a page with its tables made anew."""

    def renew(found: re.Match[str]) -> str:
        return "\n".join([found[1], *TABLES[found["md"] or found["rst"]](), "", found["end"]])

    return MARKED.sub(renew, text)


def stale() -> dict[Path, str]:
    """Return the pages whose tables are not what the code says, with the right text."""
    texts = {DOCS / page: read(DOCS / page) for page in PAGES}
    new = {page: generated(text) for page, text in texts.items()}
    return {page: text for page, text in new.items() if text != texts[page]}


def main(arguments: list[str] | None = None) -> int:
    """Say which pages are stale, or write them."""
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
