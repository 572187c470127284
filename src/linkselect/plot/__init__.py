"""Pictures: a fitted selector or a result becomes Axes.

Every function draws into the `ax` it is given, or into a new pyplot figure, and returns the
Axes. No screen is needed. Lines differ in style and marker, bars in hatching, so that nothing
depends on colour alone. In a long loop pass your own `ax` or close the figures: pyplot keeps
every figure that it made.
"""

from linkselect.plot._comparisons import agreement, curves
from linkselect.plot._feature_plots import mask, path, scores
from linkselect.plot._pair_plots import pair_worth, pairs

__all__ = ["agreement", "curves", "mask", "pair_worth", "pairs", "path", "scores"]
