"""The samples: dense, sparse, on a device or stored in parts. Only this part knows which."""

from linkselect._samples.door import as_parts, as_samples
from linkselect._samples.parts import Parts
from linkselect._samples.samples import Samples

__all__ = ["Parts", "Samples", "as_parts", "as_samples"]
