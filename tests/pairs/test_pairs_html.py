"""Tests of pairs in a notebook: counts, groups and conflicts."""

import re
from html import unescape

import numpy as np

from linkselect import Pairs
from linkselect.pairs._overview import WIDTH


def cells(html):
    return [re.sub("<.*?>", "", cell) for cell in re.findall(r"<td.*?>(.*?)</td>", html)]


def test_counts_groups_and_conflicts():
    pairs = Pairs(must=[("a", "b"), ("b", "c"), ("d", "e")], cannot=[("a", "c"), ("a", "d")])
    html = pairs._repr_html_()
    found = cells(html)
    assert "<strong>5 pairs</strong>" in html
    assert found[:2] == ["must-links", "3"]
    assert found[3:5] == ["cannot-links", "2"]
    assert found[6:8] == ["samples in pairs", "5"]
    assert found[9:11] == ["groups joined by must-links", "2"]
    assert found[12:14] == ["conflicts", "1"]
    assert "must-links connect its samples: &#x27;a&#x27; = &#x27;b&#x27; = &#x27;c&#x27;" in html


def test_the_share_of_all_samples_if_it_is_known():
    html = Pairs.from_labels([0, 0, 1, -1])._repr_html_()
    assert "3 of 4" in cells(html)
    assert "<li>" not in html


def test_names_are_escaped_and_long_ones_shortened():
    html = Pairs(must=[("<script>", "x" * 500)])._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    cut = max(cells(html), key=len)
    assert cut.endswith("x…")
    assert len(unescape(cut)) == WIDTH


def test_names_that_just_fit_are_not_shortened():
    text = "x" * (WIDTH - len("('', 1)"))
    for longer, end in (("", "x', 1)"), ("x", "xx', …")):
        shown = cells(Pairs(must=[(text + longer, 1)])._repr_html_())[2]
        assert unescape(shown).endswith(end)


def test_no_pairs_and_many_pairs():
    assert "<strong>0 pairs</strong>" in Pairs()._repr_html_()
    html = Pairs.from_labels(np.repeat([0, 1], 40))._repr_html_()
    assert cells(html)[1] == "1,560"
    assert len(html) < 4000


def test_at_most_three_entries_are_shown():
    for n, end in ((3, "(4, 5)"), (4, "(4, 5), …")):
        html = Pairs(must=[(2 * i, 2 * i + 1) for i in range(n)])._repr_html_()
        assert cells(html)[1:3] == [str(n), f"(0, 1), (2, 3), {end}"]
    conflicting = Pairs(must=[(i, i + 1) for i in range(6)], cannot=[(i, i + 2) for i in range(5)])
    assert conflicting._repr_html_().count("<li>") == 3


def test_groups_of_two_or_more_are_counted():
    found = cells(Pairs(must=[(0, 1)], cannot=[(2, 3), (3, 4)])._repr_html_())
    assert found[9:12] == ["groups joined by must-links", "1", "(0, 1)"]
    assert found[6:9] == ["samples in pairs", "5", "0, 1, 2, …"]
