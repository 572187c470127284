"""Two summaries and an HTML parser for tests of reports."""

import json
import re
from functools import cache
from html.parser import HTMLParser

import numpy as np
from sklearn.datasets import load_wine

from linkselect import FisherScore, Pairs, SimilarityConstraintScore
from linkselect.report import render, summarize

STRANGE_NAMES = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "\"quotes\" & 'more'",
    "$x^2$",
    "n" * 3000,
    "名前 \u202e كلمة",
    "two\nlines\u2028and\u2029three",
    "{{ 7 * 7 }} {% raw %}",
    "\ud800 alone",
    'id="axes_1" url(#p) #24292f',
    "\x00\x1b[31m",
    "--> <!-- ]]>",
]


def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return (X - X.min()) / (X.max() - X.min()), y


@cache
def paired_summary():
    """Return the summary of a search from pairs."""
    X, y = wine()
    pairs = Pairs.from_labels(y, n_must=15, n_cannot=15, random_state=0)
    selector = SimilarityConstraintScore(sigma=0.4).fit(X, pairs=pairs)
    return summarize(selector, X, y, pairs, source="wine.csv")


@cache
def paired_page():
    """Render that summary, once for all tests that only read the page."""
    return render(paired_summary())


@cache
def strange_summary():
    """Return the summary of a ranking whose features and classes have unusual names."""
    X, y = wine()
    X = X.to_numpy()[:, : len(STRANGE_NAMES)]
    labels = np.array(["<b>bold</b>", "$y$", "</script>"])[y]
    selector = FisherScore(n_features_to_select=4).fit(X, labels)
    # Without pandas, which cannot store a lone surrogate.
    selector.feature_names_in_ = np.array(STRANGE_NAMES, dtype=object)
    return summarize(selector, X, labels, source="<i>file</i>", call="rm '<x>' && echo \"$x\"")


@cache
def strange_page():
    """Render that summary, once for all tests that only read the page."""
    return render(strange_summary())


class Page(HTMLParser):
    """Collect tags, ids and the text outside scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.ids, self.attributes, self.text = [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        self.ids += [value for key, value in attrs if key == "id"]

    def handle_data(self, data):
        self.text.append(data)


def embedded(page):
    found = re.search(r'<script type="application/json" id="ranking-data">(.*?)</script>', page)
    return json.loads(found[1])
