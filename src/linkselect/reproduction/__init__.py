"""Reproduction of four papers: data sets, protocols, tables, figures and resumable runs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkselect.reproduction._classifiers import cross_validated_curve as cross_validated_curve
    from linkselect.reproduction._classifiers import linear_svm_curve as linear_svm_curve
    from linkselect.reproduction._classifiers import rbf_svm_curve as rbf_svm_curve
    from linkselect.reproduction._datasets import DataNotFoundError as DataNotFoundError
    from linkselect.reproduction._datasets import Dataset as Dataset
    from linkselect.reproduction._datasets import dataset_names as dataset_names
    from linkselect.reproduction._datasets import load_dataset as load_dataset
    from linkselect.reproduction._pipeline import Made as Made
    from linkselect.reproduction._pipeline import make as make
    from linkselect.reproduction._scaling import fill_missing as fill_missing
    from linkselect.reproduction._scaling import scale_by_maximum as scale_by_maximum
    from linkselect.reproduction._scaling import scale_to_unit as scale_to_unit
    from linkselect.reproduction._splits import every_second as every_second
    from linkselect.reproduction._splits import first_half as first_half
    from linkselect.reproduction._splits import first_part as first_part
    from linkselect.reproduction._splits import fixed_size as fixed_size
    from linkselect.reproduction._splits import prototypes as prototypes
    from linkselect.reproduction._splits import random_pairs as random_pairs
    from linkselect.reproduction._splits import stratified_half as stratified_half

# A module is imported when one of its names is first used: data sets can be read without importing
# scikit-learn's classifiers, and splits without importing any of the papers.
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

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
