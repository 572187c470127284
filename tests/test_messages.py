"""Errors with hints, warnings at the line of the user, and counted nouns."""

import copy
import pickle
import subprocess
import sys
import warnings

import pytest

import linkselect as ls
from linkselect._messages import GuidedError, GuidedTypeError, GuidedValueError, many, warn_user
from linkselect.pairs import PairConflictError

ERRORS = [GuidedError, GuidedValueError, GuidedTypeError, PairConflictError]
every_error = pytest.mark.parametrize("kind", ERRORS)


@every_error
def test_the_parts_and_the_text_of_an_error(kind):
    error = kind("n=5, but there are 3.", "Choose 1 to 3.")
    assert error.problem == "n=5, but there are 3."
    assert error.hint == "Choose 1 to 3."
    assert str(error) == "n=5, but there are 3. Choose 1 to 3."
    assert error.args == (str(error),)


@pytest.mark.parametrize("kind", [GuidedError, GuidedValueError, GuidedTypeError])
def test_an_error_without_a_hint(kind):
    error = kind("n=5, but there are 3.")
    assert error.hint == ""
    assert str(error) == error.problem


def test_errors_are_of_the_usual_types():
    assert issubclass(GuidedValueError, ValueError)
    assert issubclass(GuidedTypeError, TypeError)
    assert issubclass(PairConflictError, ValueError)
    assert not issubclass(GuidedValueError, TypeError)


@every_error
@pytest.mark.parametrize("again", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy])
def test_pickles_and_copies_keep_both_parts(kind, again):
    error = kind("The problem.", "The hint.")
    other = again(error)
    assert type(other) is kind
    assert (other.problem, other.hint, str(other)) == (error.problem, error.hint, str(error))


def test_an_error_of_a_fit_keeps_its_parts_on_the_way_from_another_process():
    code = (
        "import pickle, sys, numpy as np, linkselect as ls\n"
        "try:\n    ls.VarianceScore(5).fit(np.eye(3))\n"
        "except ValueError as error:\n    sys.stdout.buffer.write(pickle.dumps(error))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    error = pickle.loads(done.stdout)
    assert isinstance(error, GuidedValueError)
    assert error.problem == "n_features_to_select=5, but X has 3 features."
    assert error.hint.startswith("Choose 1 to 3")


def test_a_message_is_one_sentence_after_the_other():
    with pytest.raises(PairConflictError) as caught:
        ls.ConstraintScore().fit([[0.0], [1.0], [2.0]], pairs=ls.Pairs([(0, 1)], [(0, 1)]))
    error = caught.value
    assert error.problem.endswith(".")
    assert str(error) == f"{error.problem} {error.hint}"


# -- warnings ----------------------------------------------------------------------------------


def function_in(module, code):
    """Return a function `work` of another module."""
    namespace = {"__name__": module, "warn_user": warn_user}
    exec(compile(f"def work(inner=None):\n    {code}", f"<{module}>", "exec"), namespace)
    return namespace["work"]


@pytest.mark.parametrize(
    "module", ["linkselect", "linkselect.deep.inside", "sklearn.base", "joblib.memory"]
)
def test_a_warning_points_behind_our_own_modules(module):
    warn = function_in("linkselect.selectors", "warn_user('Careful.')")
    call = function_in(module, "inner()")
    with pytest.warns(UserWarning, match="Careful") as caught:
        call(warn)
    assert caught[0].filename == __file__


def test_a_module_with_a_similar_name_is_not_ours():
    warn = function_in("linkselect.selectors", "warn_user('Careful.')")
    call = function_in("linkselect_extras.tools", "inner()")
    with pytest.warns(UserWarning, match="Careful") as caught:
        call(warn)
    assert caught[0].filename == "<linkselect_extras.tools>"


def test_the_category_of_a_warning():
    with pytest.warns(RuntimeWarning, match="Careful") as caught:
        warn_user("Careful.", RuntimeWarning)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_a_warning_keeps_its_parts():
    with pytest.warns(RuntimeWarning, match=r"^n=5 is odd\. Pass n=4\.$") as caught:
        warn_user("n=5 is odd.", RuntimeWarning, hint="Pass n=4.", settings={"n": "4"})
    assert caught[0].message.problem == "n=5 is odd."
    assert caught[0].message.settings == {"n": "4"}


def test_a_warning_can_be_made_an_error():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="Careful"):
            warn_user("Careful.")


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (1_234_567, "1,234,567 rows")]
)
def test_counted_things(number, text):
    assert many(number, "row") == text
