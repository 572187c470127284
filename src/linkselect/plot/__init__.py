"""Plots of fitted selectors and results.

Every function draws into the given `ax`, or into a new pyplot figure, and returns the Axes. No
display is needed. Lines differ in style and marker, and bars differ in hatching, so that they can
be distinguished without colour. If you draw many figures in a loop, pass your own `ax` or close
each figure, because pyplot keeps all figures that it creates in memory.
"""

from linkselect.plot._comparisons import agreement, curves
from linkselect.plot._feature_plots import mask, path, scores
from linkselect.plot._pair_plots import pair_worth, pairs

__all__ = ["agreement", "curves", "mask", "pair_worth", "pairs", "path", "scores"]
