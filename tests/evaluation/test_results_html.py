"""The HTML view of a comparison in a notebook."""

import numpy as np

import linkselect as ls


def test_methods_and_sentences_are_shown(iris):
    methods = {"<b>variance</b>": ls.VarianceScore(), "fisher": ls.FisherScore()}
    pairs = ls.Pairs.from_labels(iris[1], n_must=20, n_cannot=20, random_state=0)
    found = ls.compare(methods, *iris, pairs=pairs, n_splits=3, random_state=0)
    html = found._repr_html_()
    assert "2 methods on 150 samples with 4 features" in html
    assert "<b>" not in html
    assert "&lt;b&gt;variance&lt;/b&gt;" in html
    assert html.index("<td") < html.index(found.leader.replace("<", "&lt;").replace(">", "&gt;"))
    for name, value in found.mean_accuracy.items():
        assert f"{100 * value:.1f} %" in html, name
    assert ("mean AUC" in html) == (found.held_out_pairs is not None)
    assert f"{100 * np.mean(found.all_features):.1f} %" in html
