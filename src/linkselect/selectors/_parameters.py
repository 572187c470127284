"""What parameters of selectors and clusterers may be."""

from __future__ import annotations

from numbers import Integral, Real

from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions

AT_LEAST_0 = [Interval(Real, 0, None, closed="left")]
AT_LEAST_1 = [Interval(Integral, 1, None, closed="left")]
NEIGHBORS = AT_LEAST_1
NEIGHBORS_TRANSFORMER = [None, HasMethods(["fit_transform"])]
N_JOBS = [*AT_LEAST_1, Options(int, {-1}), None]
ON_CONFLICT = [StrOptions({"raise", "warn", "drop"})]
POSITIVE = [Interval(Real, 0, None, closed="neither")]
RADIUS = [None, *POSITIVE]
SHARE = [Interval(Real, 0, 1, closed="right")]
NUMBER_OF_FEATURES = [StrOptions({"auto"}), *AT_LEAST_1, *SHARE]
SIGMA = [StrOptions({"auto"}), *POSITIVE]
