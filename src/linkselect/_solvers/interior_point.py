"""Mehrotra's predictor-corrector interior point method, for a stack of problems at once.

All problems have the form::

    minimise    sum_j cost_j |v_j|
    subject to  linear equations in v, and whatever else a `Problem` adds

With `v = positive - negative`, the products that vanish at the optimum are those of `positive`
and `below`, and of `negative` and `above`, where `below` and `above` are the distances from the
worth of a variable to plus and minus its cost. The names are those of the table in
`linkselect._solvers`.

The linear program and the ball-constrained problem share the iterate, the predictor-corrector
step and the loop. They differ in the Newton system, the length of a step and the measure of
progress, which a `Problem` provides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, Self, TypeVar

import numpy as np

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._solvers.stacks import Solutions, Stack

# A point must not reconstruct itself. A cost out of reach ensures that without a special case.
OUT_OF_REACH = 1e30


@dataclass
class Iterate(Stack):
    """Primal and dual variables, or a change of them."""

    PRIMAL: ClassVar[tuple[str, ...]] = ("positive", "negative")
    DUAL: ClassVar[tuple[str, ...]] = ("below", "above", "price")

    goal: FloatArray
    positive: FloatArray
    negative: FloatArray
    below: FloatArray
    above: FloatArray
    price: FloatArray

    @property
    def value(self) -> FloatArray:
        """The variables themselves."""
        return self.positive - self.negative

    @property
    def scaling(self) -> FloatArray:
        """The diagonal of the matrix between the equations in the Newton system."""
        return self.positive / self.below + self.negative / self.above

    def products(self) -> list[FloatArray]:
        """Return the products that vanish at the optimum."""
        return [self.positive * self.below, self.negative * self.above]

    def gap(self) -> FloatArray:
        """Return the sum of the products that vanish at the optimum."""
        return (self.positive * self.below + self.negative * self.above).sum(axis=1)

    def rest(self, wanted: Sequence[FloatArray]) -> FloatArray:
        """Return the part of the change of `value` that does not depend on the prices."""
        return wanted[0] / self.below - wanted[1] / self.above

    def change(self, wanted: Sequence[FloatArray], price: FloatArray, worth: FloatArray) -> Self:
        """Return the change by which the linearised products change as wanted.

        `price` is the change of the prices, `worth` that of the worths, which follows from it.
        """
        return replace(
            self,
            positive=(wanted[0] + self.positive * worth) / self.below,
            negative=(wanted[1] - self.negative * worth) / self.above,
            below=-worth,
            above=worth,
            price=price,
        )

    def moved(self, change: Self, primal: FloatArray, dual: FloatArray) -> Self:
        """Take a step of the given length in the primal and in the dual variables."""
        lengths = dict.fromkeys(self.PRIMAL, primal) | dict.fromkeys(self.DUAL, dual)
        return replace(
            self,
            **{
                name: getattr(self, name) + length * getattr(change, name)
                for name, length in lengths.items()
            },
        )


AnyIterate = TypeVar("AnyIterate", bound=Iterate)
# Takes the wanted change of each product, and the predicted change once there is one; returns the
# change of the iterate.
Newton = Callable[[list[FloatArray], AnyIterate | None], AnyIterate]


class Problem(Protocol[AnyIterate]):
    """What the method needs to know about a problem.

    Attributes
    ----------
    max_steps : int
        The largest number of steps.
    fraction : float
        How far to go towards the boundary, as a share of the way.
    patience : float
        The method goes on as long as the merit is at most this many times the best one, and
        whenever it has just become better.
    """

    max_steps: int
    fraction: float
    patience: float

    def assess(self, now: AnyIterate) -> tuple[FloatArray, BoolArray]:
        """Return the merit, which is smaller the better, and which problems are solved."""
        ...

    def newton(self, now: AnyIterate) -> Newton[AnyIterate]:
        """Factorise the Newton system at an iterate and return the function that solves it."""
        ...

    def moved(self, now: AnyIterate, change: AnyIterate, fraction: float) -> AnyIterate:
        """Go the given fraction of the way to the boundary, and at most a whole step."""
        ...

    def centring(self, share: FloatArray) -> FloatArray:
        """Return how much to centre if the predictor leaves this share of the gap."""
        ...


def approach(problem: Problem[AnyIterate], now: AnyIterate) -> Solutions:
    """Step until every problem is solved, or rounding undoes the progress."""
    values, prices = now.value, now.price.copy()
    best, steps = np.full(len(values), np.inf), np.zeros(len(values), dtype=np.intp)
    places = np.arange(len(values))
    for step in range(problem.max_steps):
        merit, solved = problem.assess(now)
        # Near the end rounding can undo progress: keep the best, and stop once it is lost.
        better = merit < best[places]
        values[places[better]] = now.value[better]
        prices[places[better]] = now.price[better]
        best[places[better]] = merit[better]
        steps[places] = step
        going = ~solved & (better | (merit <= problem.patience * best[places]))
        now, places = now.take(going), places[going]
        if not len(places):
            break
        now = _predict_and_correct(problem, now)
    return Solutions(values, prices, steps)


def _predict_and_correct(problem: Problem[AnyIterate], now: AnyIterate) -> AnyIterate:
    """Take one step of Mehrotra's method."""
    newton, products = problem.newton(now), now.products()
    predicted = newton([-product for product in products], None)
    n_products = sum(product.shape[1] for product in products)
    mean = now.gap() / n_products
    after = problem.moved(now, predicted, 1.0).gap() / n_products
    centre = (problem.centring(after / mean) * mean)[:, None]
    second_order = predicted.products()
    wanted = [centre - p - s for p, s in zip(products, second_order, strict=True)]
    return problem.moved(now, newton(wanted, predicted), problem.fraction)


def largest_decrease(now: Iterate, change: Iterate, names: Iterable[str]) -> FloatArray:
    """Return how many times over a full step would use up some variable, and at least 1."""
    fastest = [np.max(-getattr(change, name) / getattr(now, name), axis=1) for name in names]
    return np.maximum(1.0, np.max(fastest, axis=0))[:, None]


def unit_costs(n_points: int, targets: IntArray) -> FloatArray:
    """Return a cost of 1 for the weight of every point, out of reach for that of the target."""
    costs = np.ones((len(targets), n_points))
    costs[np.arange(len(targets)), targets] = OUT_OF_REACH
    return costs
