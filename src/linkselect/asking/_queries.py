"""Choose pairs of samples to ask a person about, and record the answers."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any, Self

import numpy as np

from linkselect._arrays import FloatArray, IntArray, Matrix
from linkselect._messages import GuidedValueError
from linkselect._samples.checks import Given
from linkselect._supervision import Supervision, present_pairs, refuse_weights
from linkselect.asking import _answers as answering
from linkselect.asking._asked_samples import Progress, SampleNames, SampleValues
from linkselect.asking._conclusions import Conclusions, known_from
from linkselect.asking._state import VERSION, check_seed, check_state, plain, read_answers
from linkselect.asking._strategies import Situation, check_strategy, is_drawn, next_question
from linkselect.pairs import PairConflictError, Pairs
from linkselect.pairs._conflicts import Pair, describe_conflicts
from linkselect.scores import constraint_ratio
from linkselect.selectors._ranking import with_equal_ties, with_equal_twins

Answers = dict[answering.Rows, answering.Answer]
Snapshot = tuple[Answers, Answers, Answers]


class PairQueries:
    """Choose pairs of samples to ask a person about, and record the answers.

    A question about a pair is skipped if its answer is implied by earlier answers or if it was
    answered "unsure". An answer that contradicts earlier answers is not recorded; the contradiction
    is returned, so that the person can decide which answer to change.

    The next question depends only on X, the pairs, the answers and `random_state`. A stored
    labelling session therefore resumes with the same questions.

    Every fifth pair is drawn at random, if possible from samples that are in no pair, because only
    pairs chosen without looking at X can validate a ranking. All other answers are marked as
    adaptive in `pairs`, including answers to questions that were not asked.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples, as a NumPy or memory-mapped array, a SciPy sparse matrix, or a pandas or polars
        DataFrame. An array or CSR matrix is not copied and must not be modified.
    pairs : Pairs, optional
        Known pairs.
    sample_ids : iterable of hashable, optional
        The ID of each sample. Default: the index of X if it is a pandas object, otherwise row
        numbers.
    strategy : {"grow", "minmax", "random"}, default="grow"
        The strategy for choosing the next pair. "grow" compares a random sample with the three
        nearest groups of alike samples, until an answer is "alike". Distances are computed in the
        features that `LinkSelector` selects from the answers so far. "minmax" compares the sample
        that is farthest from all samples in earlier questions with all groups. "random" draws
        pairs at random.
    random_state : int, RandomState instance or None, default=None
        Seed for the random choices.
    progress : callable, optional
        A function that is called while X is read, with the number of completed steps and the total
        number of steps. Reading large data takes several seconds.

    See Also
    --------
    Pairs : Must-links and cannot-links, as obtained from the answers.
    LinkSelector : The method whose features "grow" uses.
    ConstraintScore : The method that computes `scores`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import LinkSelector
    >>> from linkselect.asking import PairQueries
    >>> X, y = load_iris(return_X_y=True)
    >>> queries = PairQueries(X, random_state=0)
    >>> for _ in range(10):
    ...     a, b = queries.next_pair()
    ...     queries.answer((a, b), "alike" if y[a] == y[b] else "different")
    >>> queries.counts
    {'alike': 5, 'different': 5, 'unsure': 0}
    >>> queries.pairs  # the fifth and the tenth question were drawn at random
    Pairs(must=5, cannot=5, adaptive=8)
    >>> LinkSelector(2).fit(X, pairs=queries.pairs).order_
    array([3, 1, 2, 0])
    """

    _all: Conclusions

    def __init__(
        self,
        X: Any,
        pairs: Pairs | None = None,
        sample_ids: Iterable[Hashable] | None = None,
        strategy: str = "grow",
        random_state: int | np.random.RandomState | None = None,
        *,
        progress: Progress | None = None,
    ) -> None:
        given = Given.read(X, None, pairs, sample_ids)
        self.strategy = check_strategy(strategy)
        self.seed = check_seed(random_state)
        self._samples = SampleValues(X, progress)
        n_samples = self._samples.n_samples
        self._names = SampleNames(given.sample_ids, n_samples)
        self._order = np.random.default_rng(self.seed).permutation(n_samples)
        # Given pairs and answers in chronological order, indexed by rows, smaller row first.
        self._given: Answers = {}
        self._answers: Answers = {}
        # The given pairs that were changed later.
        self._replaced: Answers = {}
        self._next: answering.Rows | None = None
        self._chosen = False  # whether `_next` is up to date
        # Incremented when earlier answers change, but not when an answer is added.
        self.revision = 0
        # The pairs that were drawn at random when last asked, also in other windows.
        self._drawn: set[answering.Rows] = set()
        if pairs is not None:
            self._take(pairs, given.ids_are_index)
        self._learn()

    def _take(self, pairs: Pairs, ids_are_index: bool) -> None:
        ids = None if self._names.are_rows else self.sample_ids
        refuse_weights(pairs, "PairQueries")
        held, _ = present_pairs(pairs, len(self.sample_ids), ids, ids_are_index=ids_are_index)
        if held.n_conflicts:
            raise PairConflictError(
                describe_conflicts(held),
                "Correct the pairs (Pairs.conflicts() lists all conflicts), or pass "
                "pairs.without_conflicts() to drop these cannot-links.",
            )
        adaptive = set(held.adaptive)
        given = [answering.Answer(pair, "alike", pair in adaptive) for pair in held.must]
        given += [answering.Answer(pair, "different", pair in adaptive) for pair in held.cannot]
        self._given = {self._names.key(one.pair): one for one in given}

    def next_pair(self, skip: Iterable[Sequence[Hashable]] = ()) -> Pair | None:
        """Return the next pair to ask about, or None if no pair is left.

        The pair remains the same until the answers change. The first sample of the pair is being
        assigned to a group.

        Parameters
        ----------
        skip : iterable of pairs, default=()
            Pairs to exclude, for example because another window is asking about them.
        """
        if not self._chosen:
            self._next = self._choose(self._all.placed)
            self._chosen = True
        skipped = {self._names.key(self._names.checked(pair)) for pair in skip}
        found = self._next
        if found is not None and answering.in_order(*found) in skipped:
            # Ask about another sample, since two windows should not ask about the same one.
            found = self._choose((), skipped)
        if found is None:
            return None
        pair = self.sample_ids[found[0]], self.sample_ids[found[1]]
        is_random = is_drawn(self.strategy, len(self._answers))
        (self._drawn.add if is_random else self._drawn.discard)(self._names.key(pair))
        return pair

    def _choose(
        self, history: tuple[answering.SaidAbout, ...], skipped: Iterable[answering.Rows] = ()
    ) -> answering.Rows | None:
        known, seen = self._all.leaving_alone(skipped)
        now = Situation(self._samples, known, history, len(self._answers), self._order, self.seed)
        return next_question(self.strategy, now, seen)

    def answer(
        self, pair: Sequence[Hashable], answer: answering.Said
    ) -> answering.Contradiction | None:
        """Record an answer about any pair, not only about the pair of the current question.

        A new answer about the same pair replaces the earlier one, unless the new answer is
        "unsure".

        Parameters
        ----------
        pair : tuple of two IDs
            The samples, in any order.
        answer : {"alike", "different", "unsure"}
            The answer.

        Returns
        -------
        Contradiction or None
            The contradiction with earlier answers, if any; the answer is then not recorded.
        """
        said = answering.check_answer(answer)
        asked = self._asked(pair)
        key = self._names.key(asked)
        before = self._said(key)
        if before is not None and said in (before.answer, "unsure"):
            return None
        found = self.contradiction(asked, said)
        if found is None:
            adaptive = key not in self._drawn if before is None else before.adaptive
            self._record(answering.Answer(asked, said, adaptive))
        return found

    def contradiction(
        self, pair: Sequence[Hashable], answer: answering.Said
    ) -> answering.Contradiction | None:
        """Return the contradiction that an answer would cause, or None, without recording it."""
        new = answering.Answer(self._asked(pair), answering.check_answer(answer))
        return self._contradicted(new)

    def change(
        self, pair: Sequence[Hashable], answer: answering.Said | None
    ) -> answering.Contradiction | None:
        """Change an earlier answer or a given pair.

        Parameters
        ----------
        pair : tuple of two IDs
            The samples, in any order.
        answer : {"alike", "different", "unsure"} or None
            The new answer; None removes the answer.

        Returns
        -------
        Contradiction or None
            The contradiction with other answers, if any; nothing is then changed.
        """
        said = None if answer is None else answering.check_answer(answer)
        key = self._names.key(self._asked(pair))
        before = self._said(key)
        if before is None:
            raise GuidedValueError(
                f"The pair {tuple(pair)!r} has no answer to change.",
                "Pass a pair in `history` or `given`, or use answer().",
                "pair",
            )
        if said is None:
            for some in (self._answers, self._given, self._replaced):
                some.pop(key, None)
            self._learn()
            return None
        # The old answer must not count as a contradiction of the new one.
        others = {place: one for place, one in self._everything.items() if place != key}
        new, known = replace(before, answer=said), known_from(others, len(self.sample_ids))
        found = answering.contradiction_of(new, key, known, others.values())
        if found is None:
            self._record(new, in_place=True)
        return found

    def undo(self) -> answering.Answer | None:
        """Remove and return the last answer in `history`; return None if there is no answer.

        If the answer changed a given pair, the given pair is restored, unless it contradicts
        answers that were changed later.
        """
        if not self._answers:
            return None
        key, last = self._answers.popitem()
        self._learn()
        given = self._replaced.pop(key, None)
        if given and self._contradicted(given) is None:
            self._given[key] = given
            self._learn()
        return last

    def snapshot(self) -> Snapshot:
        """Return all given pairs and answers in chronological order, for `put_back`."""
        return dict(self._given), dict(self._answers), dict(self._replaced)

    def put_back(self, snapshot: Snapshot) -> None:
        """Restore the initial pairs and the answers from a snapshot."""
        self._given, self._answers, self._replaced = map(dict, snapshot)
        self._learn()

    def _record(self, new: answering.Answer, *, in_place: bool = False) -> None:
        """Append an answer, or replace the answer that it changes."""
        key = self._names.key(new.pair)
        is_new = self._said(key) is None
        given = self._given.pop(key, None)
        if given is not None:
            self._replaced[key] = given
        if not in_place:
            self._answers.pop(key, None)
        self._answers[key] = new
        if is_new:
            self._all = self._all.after(key, self._names.rows(new.pair), new)
            self._chosen = False
        else:
            self._learn()

    def _learn(self) -> None:
        """Compute all conclusions again after earlier answers have changed."""
        self.revision += 1
        self._all = Conclusions.of(self._given, self._answers, self._names)
        self._chosen = False

    def _contradicted(self, new: answering.Answer) -> answering.Contradiction | None:
        others = chain(self._given.values(), self._answers.values())
        return answering.contradiction_of(new, self._names.key(new.pair), self._all.known, others)

    def _said(self, key: answering.Rows) -> answering.Answer | None:
        return self._answers.get(key) or self._given.get(key)

    @property
    def _everything(self) -> Answers:
        return {**self._given, **self._answers}

    @property
    def X(self) -> Matrix:
        """The samples after validation: an array or CSR matrix."""
        return self._samples.X

    @property
    def sample_ids(self) -> tuple[Hashable, ...]:
        """The ID of each sample, or row numbers if no IDs were passed."""
        return self._names.ids

    @property
    def pairs(self) -> Pairs:
        """All given pairs and answers as must-links and cannot-links, without "unsure" answers."""
        sure = [one for one in self._everything.values() if one.answer != "unsure"]
        return Pairs(
            [one.pair for one in sure if one.answer == "alike"],
            [one.pair for one in sure if one.answer == "different"],
            n_samples=len(self.sample_ids) if self._names.are_rows else None,
            adaptive=[one.pair for one in sure if one.adaptive],
        )

    @property
    def given(self) -> tuple[answering.Answer, ...]:
        """The pairs that were passed to the constructor, as answers."""
        return tuple(self._given.values())

    @property
    def history(self) -> tuple[answering.Answer, ...]:
        """All answers in chronological order."""
        return tuple(self._answers.values())

    @property
    def counts(self) -> dict[answering.Said, int]:
        """The number of answers of each kind in `history`."""
        return dict(self._all.counts)

    @property
    def feature_names(self) -> Any:
        """The feature names if X was a DataFrame with strings as column names, otherwise None."""
        return self._samples.feature_names

    def follows(self, pair: Sequence[Hashable]) -> answering.Said | None:
        """Return the answer that is implied for a pair ("alike" or "different"), or None."""
        return self._all.known.follows(*self._names.rows(self._names.checked(pair)))

    def answer_to(self, pair: Sequence[Hashable]) -> answering.Answer | None:
        """Return the answer or given pair for two samples in any order, or None."""
        return self._said(self._names.key(self._names.checked(pair)))

    def links(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return the rows of the must-links, the cannot-links and the adaptive pairs.

        Given pairs come first, followed by the answers in chronological order.
        """
        return self._all.known.must, self._all.known.cannot, self._all.adaptive

    def named(self) -> tuple[Hashable, ...]:
        """Return the samples that occur in pairs or answers, in row order."""
        return tuple(self.sample_ids[row] for row in np.flatnonzero(self._all.known.named))

    def scores(self) -> FloatArray | None:
        """Return the Constraint Scores for the current pairs; smaller is better.

        The scores are the same as `ConstraintScore().fit(X, pairs=queries.pairs).scores_`, but only
        samples in pairs are read. The result is None until there are a must-link and a cannot-link.
        """
        known = self._all.known
        if not len(known.must) or not len(known.cannot):
            return None
        must, cannot = (np.searchsorted(known.linked, rows) for rows in (known.must, known.cannot))
        values = self._samples.rows(known.linked)
        said = Supervision(known.group[known.linked], must, cannot)
        scores = with_equal_ties(constraint_ratio(values, said, n_jobs=1))
        scores[self._samples.constant] = np.nan
        return with_equal_twins(values, scores)

    def state(self, after: int = 0) -> dict[str, Any]:
        """Return the session, except X and the IDs, as a dict that can be written as JSON.

        Parameters
        ----------
        after : int, default=0
            The number of initial answers to omit because they are already stored. If it is not 0,
            the given pairs are also omitted.
        """
        n_new = len(self._answers) - after
        new = list(islice(reversed(self._answers.items()), n_new))[::-1]
        given = [] if after else list(self._given.items())
        listed = [*given, *new]
        named = sorted({row for key, _ in listed for row in key})
        return {
            "version": VERSION,
            "strategy": self.strategy,
            "seed": self.seed,
            "n_samples": self._samples.n_samples,
            "n_features": self._samples.n_features,
            "given": plain((one for _, one in given), self._names),
            "answers": plain((one for _, one in new), self._names),
            "replaced": plain(self._replaced.values(), self._names),
            "adaptive": [[*key] for key, one in listed if one.adaptive],
            # The IDs reveal whether the state is loaded with other samples.
            "names": {str(row): repr(self.sample_ids[row]) for row in named},
        }

    @classmethod
    def from_state(
        cls,
        X: Any,
        state: dict[str, Any],
        sample_ids: Iterable[Hashable] | None = None,
        *,
        progress: Progress | None = None,
    ) -> Self:
        """Resume a session from a state, with the same next question.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The same samples in the same order.
        state : dict
            A state returned by `state`.
        sample_ids : iterable of hashable, optional
            The same IDs.
        progress : callable, optional
            The same as for `PairQueries`.

        Returns
        -------
        PairQueries
            A new object with all given pairs and answers of the state.
        """
        check_state(state)
        queries = cls(X, None, sample_ids, state["strategy"], state["seed"], progress=progress)
        shape = queries._samples.n_samples, queries._samples.n_features
        queries.put_back(read_answers(state, shape, queries._names))
        return queries

    def _asked(self, pair: Any) -> Pair:
        """Return a pair of IDs, in the order of the current question if it is the same pair."""
        a, b = self._names.checked(pair)
        is_turned = self._chosen and self._next == self._names.rows((b, a))
        return (b, a) if is_turned else (a, b)
