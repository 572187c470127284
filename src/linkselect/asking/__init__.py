"""Ask a person about pairs of samples, the most informative ones first."""

from linkselect.asking._answers import Answer, Contradiction
from linkselect.asking._queries import PairQueries
from linkselect.asking._strategies import STRATEGIES

__all__ = ["STRATEGIES", "Answer", "Contradiction", "PairQueries"]
