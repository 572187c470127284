"""Classes for samples in any storage: dense, sparse, on a device, or outside memory.

Only this package knows how samples are stored; all other modules use the methods of `Samples`.
"""

from linkselect._samples.door import as_parts, as_samples
from linkselect._samples.parts import Parts
from linkselect._samples.samples import Samples

__all__ = ["Parts", "Samples", "as_parts", "as_samples"]
