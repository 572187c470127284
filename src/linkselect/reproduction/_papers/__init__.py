"""The four papers, one module each."""

from __future__ import annotations

from importlib import import_module

from linkselect.reproduction._paper import Paper

# By name, so that one paper's experiments are loaded without the others'.
PAPERS = {
    "constraint-score-2008": "constraint_2008",
    "sparsity-score-2012": "sparsity_2012",
    "frll-2013": "frll_2013",
    "similarity-constraint-score-2020": "similarity_2020",
}


def load_paper(name: str) -> Paper:
    """Return a paper's experiments by the paper's name."""
    paper: Paper = import_module(f"{__name__}.{PAPERS[name]}").PAPER
    return paper
