"""The page in a notebook, and its answers in Python."""

import sys
import types

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from linkselect import Pairs, labelling
from linkselect._messages import GuidedValueError
from tests.helpers.labellings import asked, client_of, grouped

X, y = grouped()


@pytest.fixture
def opened():
    opened = []

    def open_with(*arguments, **options):
        opened.append(labelling.open_page(*arguments, random_state=0, **options))
        return opened[-1]

    yield open_with
    for queries in opened:
        queries.close()


def answer(queries, n_answers=1):
    with client_of(queries.address) as client:
        for _ in range(n_answers):
            a, b = asked(client.get("").text)
            said = "alike" if y[a] == y[b] else "different"
            assert client.post("answer", data={"a": a, "b": b, "answer": said}).status_code == 303


def test_pairs_grow_with_the_answers(opened):
    queries = opened(X)
    assert queries.pairs == Pairs()
    answer(queries, 3)
    assert queries.pairs.n_must + queries.pairs.n_cannot == 3
    assert queries.address in queries._repr_html_()
    assert "3 " in queries._repr_html_() or "1 " in queries._repr_html_()


def test_names_are_taken_from_the_index_and_columns(opened):
    frame = pd.DataFrame(X, index=[f"s{i}" for i in range(len(X))], columns=list("abcdefghi"))
    queries = opened(frame, show={"group": y})
    with client_of(queries.address) as client:
        page = client.get("").text
    assert 'dir="auto">a</th>' in page
    assert '<dt dir="auto">group</dt>' in page
    answer(queries)
    (one,) = queries.history
    assert one.pair[0].startswith("s")


def test_sparse_samples_and_names(opened):
    queries = opened(csr_array(np.where(X > 0, X, 0)), feature_names=[f"w{i}" for i in range(9)])
    with client_of(queries.address) as client:
        assert 'dir="auto">w0</th>' in client.get("").text
    answer(queries)


def test_curves_of_a_folder_or_of_arrays(opened, tmp_path):
    for i in range(len(X)):
        np.save(tmp_path / f"s{i}.npy", X[i])
    ids = [f"s{i}" for i in range(len(X))]
    for curves in (tmp_path, str(tmp_path), list(X), X):
        with client_of(opened(X, sample_ids=ids, curves=curves).address) as client:
            assert client.get("").text.count('class="curve"') == 2


def test_a_file_is_resumed(opened, tmp_path):
    out = tmp_path / "pairs.csv"
    queries = opened(X, out=out)
    answer(queries, 2)
    queries.close()
    again = opened(X, out=out)
    assert again.history == queries.history
    assert Pairs.from_csv(out) == again.pairs


def test_answers_from_code_are_saved(opened, tmp_path):
    out = tmp_path / "pairs.csv"
    queries = opened(X, out=out)
    queries.answer((0, 1), "alike")
    queries.answer((1, 2), "different")
    queries.change((0, 1), "different")
    queries.undo()
    queries.close()
    assert Pairs.from_csv(out) == queries.pairs == Pairs(cannot=[(0, 1)], adaptive=[(0, 1)])
    assert opened(X, out=out).history == queries.history
    queries.answer((4, 5), "alike")
    assert queries.pairs.n_must == 1, "after closing, answers are kept in memory only"


@pytest.mark.parametrize("ids", [None, range(100, 100 + len(X))])
def test_the_code_to_rank_again_passes_ids_only_if_they_were_passed(opened, ids):
    frame = pd.DataFrame(X, index=[f"s{i}" for i in range(len(X))])
    repeat = opened(frame, sample_ids=ids)._server.labelling.repeat
    assert ("sample_ids=sample_ids" in repeat) == (ids is not None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"texts": ["one"]},
        {"curves": [[1, 2]]},
        {"show": {"group": y[1:]}},
        {"feature_names": list("abcdefghij")},
    ],
    ids=lambda one: next(iter(one)),
)
def test_shown_content_must_match_the_samples(wrong):
    with pytest.raises(GuidedValueError, match=f"{next(iter(wrong))}.* has .* but there are"):
        labelling.open_page(X, **wrong)


def test_only_a_notebook_may_embed_the_page(opened):
    queries = opened(X)
    with client_of(queries.address) as client:
        policy = client.get("").headers["content-security-policy"]
    assert policy.endswith("frame-ancestors 'self' http://localhost:* http://127.0.0.1:*")


def test_in_a_notebook_a_frame_is_shown(opened, monkeypatch):
    shown = []
    notebook = types.ModuleType("IPython")
    notebook.get_ipython = object
    notebook.display = types.ModuleType("IPython.display")
    notebook.display.HTML = str
    notebook.display.display = shown.append
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", notebook.display)
    queries = opened(X, height=700)
    (html,) = shown
    assert f'<iframe src="{queries.address}"' in html
    assert 'height="700"' in html
    assert f'<a href="{queries.address}"' in html


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(ImportError, match=r"uvicorn.*pip install 'linkselect\[ask\]'"):
        labelling.open_page(X)


def test_the_old_name_warns_and_works():
    with pytest.warns(FutureWarning, match="labelling.open_page"):
        old = labelling.open
    assert old is labelling.open_page
    with pytest.raises(AttributeError, match="no attribute 'opened'"):
        _ = labelling.opened
