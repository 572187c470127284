"""Weights that rebuild every sample from the others: the graph of the Sparsity Score."""

from linkselect.graphs.reconstruction.weights import (
    Reconstruction,
    check_reconstruction,
    n_reconstruction_steps,
    reconstruct,
    reconstruction_weights,
)

__all__ = [
    "Reconstruction",
    "check_reconstruction",
    "n_reconstruction_steps",
    "reconstruct",
    "reconstruction_weights",
]
