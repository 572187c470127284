"""Data sets, protocols, the papers' tables, and runs that can be resumed."""

from linkselect.experiments.curves import Curve
from linkselect.experiments.datasets import (
    DataNotFoundError,
    Dataset,
    dataset_names,
    load_dataset,
)
from linkselect.experiments.evaluation import (
    cross_validated_curve,
    linear_svm_curve,
    nearest_neighbor_curve,
    rbf_svm_curve,
)
from linkselect.experiments.scaling import fill_missing, scale_by_maximum, scale_to_unit
from linkselect.experiments.splits import (
    every_second,
    first_half,
    first_part,
    fixed_size,
    prototypes,
    random_pairs,
    stratified_half,
)

__all__ = [
    "Curve",
    "DataNotFoundError",
    "Dataset",
    "cross_validated_curve",
    "dataset_names",
    "every_second",
    "fill_missing",
    "first_half",
    "first_part",
    "fixed_size",
    "linear_svm_curve",
    "load_dataset",
    "nearest_neighbor_curve",
    "prototypes",
    "random_pairs",
    "rbf_svm_curve",
    "scale_by_maximum",
    "scale_to_unit",
    "stratified_half",
]
