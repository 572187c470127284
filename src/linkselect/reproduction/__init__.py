"""The four papers: data sets, protocols, tables and figures, and runs that can be resumed."""

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
