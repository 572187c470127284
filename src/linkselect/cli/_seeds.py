"""Where random draws start from, as every command takes it."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

# What NumPy's older generators take, which scikit-learn uses.
Seed = Annotated[int, Parameter(validator=Number(gte=0, lt=2**32))]
