"""Tests of the bibliography and of the docstring sections that are added automatically."""

import inspect
import pydoc
import re
from pathlib import Path

import pytest

import linkselect as ls
from linkselect import scores
from linkselect._bibliography import (
    Reference,
    bibliography,
    cited,
    cites,
    with_attributes,
    with_references,
)
from linkselect._search.fcbf import fcbf
from linkselect._search.mrmr import mrmr
from linkselect._search.nearest_neighbor import select_by_nearest_neighbor
from linkselect._search.similarity import select_by_similarity
from linkselect._search.sparse_regression import scgs
from linkselect._search.trace_ratio import best_trace_ratio
from tests.helpers.estimators import CLUSTERERS, COMBINED, SELECTORS, WRAPPERS

ROOT = Path(__file__).parents[2]
SELECTOR_CLASSES = sorted({type(one) for one in [*SELECTORS, *WRAPPERS, *COMBINED]}, key=repr)
CLASSES = [*SELECTOR_CLASSES, *sorted({type(one) for one in CLUSTERERS}, key=repr)]
every_class = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
every_selector_class = pytest.mark.parametrize(
    "cls", SELECTOR_CLASSES, ids=lambda cls: cls.__name__
)


def section(docstring, title):
    """Return the content of a section of a numpydoc docstring, or None if there is none."""
    heading = rf"^{title}\n-{{{len(title)}}}\n"
    parts = re.split(heading, inspect.cleandoc(docstring), flags=re.MULTILINE)
    if len(parts) == 1:
        return None
    assert len(parts) == 2, f"{title} more than once"
    return re.split(r"\n\n\S[^\n]*\n-+\n", parts[1])[0]


def attribute_names(docstring):
    return re.findall(r"^(\w+) :", section(docstring, "Attributes"), flags=re.MULTILINE)


# -- entries -------------------------------------------------------------------------------------


def test_entries_are_complete():
    for key, reference in bibliography().items():
        assert re.fullmatch(r"[a-z]+\d{4}", key)
        assert key.endswith(str(reference.year))
        assert reference.authors
        assert reference.title
        assert reference.venue
        assert not reference.doi.startswith("http")
        assert not reference.title.endswith(".")


def test_no_work_is_listed_twice():
    titles = [reference.title.lower() for reference in bibliography().values()]
    dois = [reference.doi for reference in bibliography().values() if reference.doi]
    assert len(set(titles)) == len(titles)
    assert len(set(dois)) == len(dois)


@every_class
def test_every_cited_key_exists(cls):
    assert [reference.key for reference in cited(cls.references)] == list(cls.references)


def test_an_unknown_key_is_an_error():
    with pytest.raises(KeyError, match="nobody1900"):
        cited(["he2005", "nobody1900"])


def test_every_entry_is_cited():
    """Search for each key in the source and on all pages except the list of references."""
    source = "\n".join(file.read_text() for file in (ROOT / "src").rglob("*.py"))
    pages = [page for page in (ROOT / "docs").rglob("*.md") if page.name != "references.md"]
    everything = "\n".join([source, *(page.read_text(encoding="utf-8") for page in pages)])
    assert not [key for key in bibliography() if not re.search(rf"\b{key}\b", everything)]


def test_a_reference_as_text():
    book = Reference("me2000", "A. Me", "On methods", "A press", 2000)
    assert str(book) == "A. Me. On methods. A press, 2000."
    paper = Reference("me2001", "A. Me and B. You", "More", "Journal 1(2), 3-4", 2001, "10.1/2")
    assert str(paper) == "A. Me and B. You. More. Journal 1(2), 3-4, 2001. doi:10.1/2"


# -- docstrings of classes -------------------------------------------------------------------------


@every_selector_class
def test_a_selector_documents_all_its_attributes(cls):
    names = attribute_names(cls.__doc__)
    expected = ["scores_", "ranking_", "order_", "support_", "n_features_", "n_features_in_"]
    assert set(expected) < set(names)
    assert len(set(names)) == len(names)


@every_class
def test_the_references_of_a_class_are_listed(cls):
    text = section(cls.__doc__, "References")
    if cls in (ls.FeatureRules, ls.Redundancy):  # not from a paper
        assert text is None
        return
    assert cls.references
    flat = " ".join(text.split())
    for number, reference in enumerate(cited(cls.references), start=1):
        assert f".. [{number}] {reference}" in flat
    assert f"[{len(cls.references) + 1}]" not in flat


@every_class
def test_sections_are_in_the_order_of_numpydoc(cls):
    sections = re.findall(r"^(\w[\w ]*)\n-{3,}$", cls.__doc__, flags=re.MULTILINE)
    order = ["Parameters", "Attributes", "See Also", "Notes", "References", "Examples"]
    assert sections == [title for title in order if title in sections]
    assert {"Parameters", "Attributes", "See Also", "Examples"} <= set(sections)


@every_class
def test_see_also_names_public_objects(cls):
    text = section(cls.__doc__, "See Also")
    names = re.findall(r"^(\w[\w.]*) :", text, flags=re.MULTILINE)
    assert names
    assert cls.__name__ not in names
    ours = [name for name in names if "." not in name]
    assert set(ours) <= set(ls.__all__)


@every_class
def test_help_shows_the_completed_docstring(cls):
    page = pydoc.plain(pydoc.render_doc(cls))
    for title in ("Attributes", "See Also"):
        assert f"|  {title}\n |  {'-' * len(title)}" in page
    assert all(f"|  {name} : " in page for name in attribute_names(cls.__doc__))


# -- docstrings with and without sections ------------------------------------------------------

PARENT = """Rank.

    Attributes
    ----------
    scores_ : ndarray
        The scores.
    order_ : ndarray
        The order,

        best first.
    """


def test_attributes_are_added_to_a_one_line_docstring():
    expected = (
        "Rank well.\n\nAttributes\n----------\nscores_ : ndarray\n    The scores.\n"
        "order_ : ndarray\n    The order,\n\n    best first."
    )
    assert with_attributes("Rank well.", PARENT) == expected


@pytest.mark.parametrize("title", ["Methods", "See Also", "Notes", "References", "Examples"])
def test_attributes_are_inserted_before_later_sections(title):
    text = f"""Rank well.

    Parameters
    ----------
    k : int
        How many.

    {title}
    {"-" * len(title)}
    Something.
    """
    found = with_attributes(text, PARENT)
    sections = re.findall(r"^(.+)\n-{3,}$", found, flags=re.MULTILINE)
    assert sections == ["Parameters", "Attributes", title]
    assert "    best first.\n\n" + title in found
    assert found.endswith("\nSomething.")


def test_own_attributes_come_first_and_replace_inherited_ones():
    text = """Rank well.

    Attributes
    ----------
    order_ : list
        Another order.
    path_ : ndarray
        The path.

    Examples
    --------
    >>> 1
    1
    """
    found = with_attributes(text, PARENT)
    assert attribute_names(found) == ["order_", "path_", "scores_"]
    assert "Another order." in found
    assert "best first" not in found
    assert found.endswith("    The scores.\n\nExamples\n--------\n>>> 1\n1")


def test_complete_attributes_are_unchanged():
    text = inspect.cleandoc(PARENT)
    assert with_attributes(text, PARENT) == text
    assert with_attributes("Rank.", "A parent without attributes.") == "Rank."
    assert with_attributes(with_attributes("Rank.", PARENT), PARENT) == with_attributes(
        "Rank.", PARENT
    )


def test_a_parameter_like_the_last_attribute_is_unchanged():
    same = "scale : float\n    The scale."
    text = f"Rank.\n\nParameters\n----------\n{same}\n\nAttributes\n----------\n{same}"
    found = with_attributes(text, PARENT)
    assert section(found, "Parameters") == same
    assert attribute_names(found) == ["scale", "scores_", "order_"]


def test_references_are_added_before_the_examples():
    text = (
        "Rank.\n\n    Notes\n    -----\n    Slow.\n\n    Examples\n    --------\n    >>> 1\n    1\n"
    )
    found = with_references(text, ["he2005", "zhang2008"])
    sections = re.findall(r"^(.+)\n-{3,}$", found, flags=re.MULTILINE)
    assert sections == ["Notes", "References", "Examples"]
    assert found.count(".. [") == 2
    assert found.index(".. [1] X. He") < found.index(".. [2] D. Zhang")
    assert max(map(len, found.splitlines())) <= 100


def test_existing_references_are_unchanged():
    text = "Rank.\n\nReferences\n----------\n.. [1] Somebody. Something."
    assert with_references(text, ["he2005"]) == text
    assert with_references("Rank.", []) == "Rank."


def test_a_word_in_the_text_is_not_a_section():
    text = "Rank.\n\nReferences\nare good."
    assert with_references(text, ["he2005"]).startswith(f"{text}\n\nReferences\n----------\n.. [1]")


def test_a_function_can_cite():
    @cites("he2005")
    def documented():
        """Rank."""

    @cites("he2005")
    def bare():
        pass

    assert documented.__doc__.startswith("Rank.\n\nReferences\n----------\n.. [1] X. He")
    assert bare.__doc__ is None


@pytest.mark.parametrize("name", scores.__all__)
def test_every_score_cites_its_paper(name):
    assert "References\n----------\n.. [1]" in getattr(scores, name).__doc__


@pytest.mark.parametrize(
    "function",
    [
        best_trace_ratio,
        fcbf,
        mrmr,
        scgs,
        select_by_nearest_neighbor,
        select_by_similarity,
    ],
)
def test_every_search_cites_its_paper(function):
    assert "References\n----------\n.. [1]" in function.__doc__
