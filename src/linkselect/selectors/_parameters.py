"""Allowed values of the parameters of selectors and clusterers."""

import inspect
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, TypeVar, dataclass_transform

from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions

Class = TypeVar("Class", bound=type)

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


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def with_parameters(cls: Class) -> Class:
    """Turn a class into a dataclass whose fields are its parameters.

    As required by scikit-learn, `__init__` only stores the parameters. The signature lists the
    parameters of a class before those of its parents, as in the docstring.
    """
    dataclass(kw_only=True, eq=False, repr=False)(cls)
    init: Any = vars(cls)["__init__"]
    signature = inspect.signature(init)
    newest_first = [vars(parent).get("__annotations__", {}) for parent in cls.__mro__]

    def place(one: inspect.Parameter) -> int:
        if one.kind is not one.KEYWORD_ONLY:
            return -1
        return next(place for place, names in enumerate(newest_first) if one.name in names)

    init.__signature__ = signature.replace(
        parameters=sorted(signature.parameters.values(), key=place)
    )
    return cls
