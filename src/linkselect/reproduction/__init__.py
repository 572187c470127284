"""The four papers: data sets, protocols, tables and figures, and runs that can be resumed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkselect.reproduction._classifiers import (
        cross_validated_curve,
        linear_svm_curve,
        rbf_svm_curve,
    )
    from linkselect.reproduction._datasets import (
        DataNotFoundError,
        Dataset,
        dataset_names,
        load_dataset,
    )
    from linkselect.reproduction._pipeline import Made, make
    from linkselect.reproduction._scaling import fill_missing, scale_by_maximum, scale_to_unit
    from linkselect.reproduction._splits import (
        every_second,
        first_half,
        first_part,
        fixed_size,
        prototypes,
        random_pairs,
        stratified_half,
    )

# Names load their module at first use: data sets can be read without scikit-learn's classifiers,
# and splits without any of the papers.
_HOMES = {
    "DataNotFoundError": "_datasets",
    "Dataset": "_datasets",
    "Made": "_pipeline",
    "cross_validated_curve": "_classifiers",
    "dataset_names": "_datasets",
    "every_second": "_splits",
    "fill_missing": "_scaling",
    "first_half": "_splits",
    "first_part": "_splits",
    "fixed_size": "_splits",
    "linear_svm_curve": "_classifiers",
    "load_dataset": "_datasets",
    "make": "_pipeline",
    "prototypes": "_splits",
    "random_pairs": "_splits",
    "rbf_svm_curve": "_classifiers",
    "scale_by_maximum": "_scaling",
    "scale_to_unit": "_scaling",
    "stratified_half": "_splits",
}

__all__ = [
    "DataNotFoundError",
    "Dataset",
    "Made",
    "cross_validated_curve",
    "dataset_names",
    "every_second",
    "fill_missing",
    "first_half",
    "first_part",
    "fixed_size",
    "linear_svm_curve",
    "load_dataset",
    "make",
    "prototypes",
    "random_pairs",
    "rbf_svm_curve",
    "scale_by_maximum",
    "scale_to_unit",
    "stratified_half",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
