"""Tests of the language rules: rejected phrases, length of the documentation, rated sentences."""

import csv
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import language  # noqa: E402


@pytest.fixture(autouse=True)
def checkout():
    if not (ROOT / ".git").exists():
        pytest.skip("needs a checkout that git can list")


def test_no_rejected_phrase_is_left():
    assert list(language.violations()) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Numbers that\n    are taken   care of.", True),
        ("What the choice of features is worth", True),
        ("It costs so many bytes.", True),
        ("Someone stood in the rain.", False),
        ("The somanybody index.", False),
    ],
)
def test_phrases_are_found_across_lines_and_only_as_whole_words(text, found):
    assert any(pattern.search(text) for pattern, _ in language.rejected()) is found


@pytest.mark.parametrize("part", language.LIMITS)
def test_the_documentation_stays_short(part):
    words = sum(language.words_by_part()[part].values())
    assert 0 < words <= language.LIMITS[part], f"{words:,} words; python docs/language.py words"


def test_every_page_belongs_to_one_part():
    """Otherwise, a renamed page of the second part would count as part of the manual."""
    names = {page.stem for page in (ROOT / "docs").iterdir() if page.suffix in (".md", "")}
    assert names >= language.SECOND_PART


def test_sentences_are_drawn_from_messages_docstrings_and_pages():
    found = language.all_sentences()
    assert all(len(found[kind]) > 500 for kind in language.KINDS)
    everything = [one for kind in language.KINDS for _, one in found[kind]]
    assert not any("-----" in one or "\n" in one for one in everything)


def test_no_sentence_that_a_reader_rejected_is_left():
    with (ROOT / "docs" / "decisions" / "sentences.csv").open(encoding="utf-8", newline="") as file:
        rated = list(csv.DictReader(file))
    assert len(rated) == 180
    rejected = {row["sentence"] for row in rated if row["natural"] == "no"}
    now = {one for kind in language.KINDS for _, one in language.all_sentences()[kind]}
    assert rejected & now == set()
