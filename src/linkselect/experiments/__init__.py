"""Data sets, protocols, the papers' tables, and runs that can be resumed."""

from linkselect.experiments.curves import Curve
from linkselect.experiments.datasets import (
    DataNotFoundError,
    Dataset,
    dataset_names,
    load_dataset,
)
from linkselect.experiments.evaluation import nearest_neighbor_curve
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
    "dataset_names",
    "every_second",
    "fill_missing",
    "first_half",
    "first_part",
    "fixed_size",
    "load_dataset",
    "nearest_neighbor_curve",
    "prototypes",
    "random_pairs",
    "scale_by_maximum",
    "scale_to_unit",
    "stratified_half",
]
