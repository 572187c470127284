"""Ask a person about pairs of samples, the most telling ones first."""

from linkselect.asking.answers import Answer, Contradiction
from linkselect.asking.queries import PairQueries
from linkselect.asking.strategies import STRATEGIES

__all__ = ["STRATEGIES", "Answer", "Contradiction", "PairQueries"]
