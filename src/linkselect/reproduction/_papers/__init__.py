"""The four papers, with one module or package each."""

from importlib import import_module

from linkselect.reproduction._paper import Paper

# Module names, so that only the experiments of one paper are imported.
PAPERS = {
    "constraint-score-2008": "constraint_2008",
    "sparsity-score-2012": "sparsity_2012",
    "frll-2013": "frll_2013",
    "similarity-constraint-score-2020": "similarity_2020",
}


def load_paper(name: str) -> Paper:
    """Return the experiments of the paper with the given name."""
    paper: Paper = import_module(f"{__name__}.{PAPERS[name]}").PAPER
    return paper
