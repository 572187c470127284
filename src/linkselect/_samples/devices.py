"""Arrays of other libraries, such as torch and cupy, that stay on their device.

A function that sees X has one version for NumPy and one in the names of the array API standard,
which serves every library. This module has what the latter share, and the three things that the
standard lacks. No library is imported here: whoever passes its arrays has done so.
"""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.externals import array_api_compat as compat
from sklearn.utils import _array_api

from linkselect._arrays import BoolArray
from linkselect._messages import GuidedError

# Float64 numbers worked on at once: 0.5 GB for each temporary array.
BLOCK_SIZE = 1 << 26
# Numbers in a matrix of ones and zeros that adds up groups; larger ones are not made.
MEMBERSHIP_SIZE = 1 << 27
# What cutting factors to 10 or 7 bits costs: TF32 and bfloat16, by torch's old and new names.
FACTOR_ROUNDING = {
    **dict.fromkeys(("highest", "ieee", "none"), 0.0),
    **dict.fromkeys(("high", "tf32"), 2.0**-10),
    **dict.fromkeys(("medium", "bf16"), 2.0**-7),
}


class OutOfDeviceMemoryError(GuidedError, MemoryError):
    """The device of X has too little free memory."""


@dataclass(frozen=True)
class Device:
    """A library and one of its devices.

    Attributes
    ----------
    xp : module
        The functions of the library, by their names in the array API standard.
    device : object
        What the library calls the device.
    """

    xp: Any
    device: Any

    def put(self, values: Any) -> Any:
        """Copy a NumPy array to the device, as it is."""
        # Some libraries refuse arrays that run backwards or cannot be written to.
        values = np.array(values)
        return self.xp.asarray(values, device=self.device)

    def float64(self, array: Any) -> Any:
        """Convert an array that is on the device; the same array if it is float64 already."""
        return self.xp.astype(array, self.xp.float64, copy=False)

    def zeros(self, *shape: int) -> Any:
        """Return zeros in float64."""
        return self.xp.zeros(shape, dtype=self.xp.float64, device=self.device)

    def arange(self, start: int, stop: int) -> Any:
        """Return whole numbers in a row."""
        return self.xp.arange(start, stop, dtype=self.xp.int64, device=self.device)


def device_of(X: Any) -> Device | None:
    """Return where an array of another library than NumPy lives; None for all that NumPy holds."""
    if isinstance(X, np.ndarray) or not compat.is_array_api_obj(X) or compat.is_numpy_array(X):
        return None
    if compat.is_dask_array(X):
        return None
    return Device(compat.array_namespace(X), compat.device(X))


def namespace_of(array: Any) -> Any:
    """Return the module whose functions work on the array: NumPy, or what the library calls so."""
    here = device_of(array)
    return np if here is None else here.xp


def to_numpy(array: Any) -> Any:
    """Copy an array from its device; what is on none is returned as it is."""
    here = device_of(array)
    return array if here is None else _array_api._convert_to_numpy(array, here.xp)


def check_placement(selector: Any, X: Any) -> None:
    """Refuse to transform X by a selector that was fitted to an array of another library."""
    if device_of(X) is None and device_of(selector.support_) is None:
        return
    # scikit-learn has it from 1.9 on; before that, indexing fails with the library's own message.
    check = getattr(_array_api, "check_same_namespace", None)
    if check is not None:
        check(X, selector, attribute="support_", method="transform")


def with_zeros(X: Any, support: BoolArray) -> Any:
    """Return X with columns of zeros where features were left out; None if X is on no device."""
    if (here := device_of(X)) is None:
        return None
    if X.shape[1] != support.sum():
        raise ValueError("X has a different shape than during fitting.")
    xp = here.xp
    # The column behind the last one is all zeros.
    source = np.where(support, np.cumsum(support) - 1, X.shape[1])
    zeros = xp.zeros((X.shape[0], 1), dtype=X.dtype, device=here.device)
    return xp.take(xp.concat([X, zeros], axis=1), here.put(source), axis=1)


def out_of_memory(error: BaseException) -> OutOfDeviceMemoryError:
    """Explain that the memory of a device did not suffice."""
    return OutOfDeviceMemoryError(
        f"The device of X ran out of memory ({str(error).splitlines()[0]}).",
        "Beside X, a fit takes a copy of it in float32 if it looks for neighbours, and some GB for "
        "blocks. Free memory there, pass X in float32, or fit on the CPU: X.cpu().numpy() for "
        "torch, cupy.asnumpy(X) for cupy.",
        "X",
    )


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether a library ran out of memory on its device."""
    return type(error).__name__ == "OutOfMemoryError"


# -- what the standard lacks ----------------------------------------------------------------


def k_smallest(xp: Any, values: Any, k: int) -> tuple[Any, Any]:
    """Find the k smallest numbers of each row, in ascending order, and their columns."""
    if compat.is_torch_namespace(xp):
        found = xp.topk(values, k, dim=1, largest=False, sorted=True)
        return found.values, found.indices
    if compat.is_cupy_namespace(xp) and k < values.shape[1]:
        columns = xp.argpartition(values, k - 1, axis=1)[:, :k]
        smallest = xp.take_along_axis(values, columns, axis=1)
        order = xp.argsort(smallest, axis=1)
        return (
            xp.take_along_axis(smallest, order, axis=1),
            xp.take_along_axis(columns, order, axis=1),
        )
    columns = xp.argsort(values, axis=1)[:, :k]
    return xp.take_along_axis(values, columns, axis=1), columns


def add_by_index(here: Device, index: Any, weights: Any, values: Any, total: int) -> Any:
    """Add up the weighted rows of a matrix that have the same index; shape (total, n_columns)."""
    xp = here.xp
    if total == 1:
        return (weights @ values)[None, :]
    if total * values.shape[0] <= MEMBERSHIP_SIZE:
        member = here.float64(index[None, :] == here.arange(0, total)[:, None])
        return (member * weights[None, :]) @ values
    values = weights[:, None] * values
    sums = here.zeros(total, values.shape[1])
    if compat.is_torch_namespace(xp):
        return sums.index_add_(0, index, values)
    if compat.is_cupy_namespace(xp):
        xp.add.at(sums, index, values)
        return sums
    for group in range(total):
        sums[group, :] = xp.sum(values[index == group], axis=0)
    return sums


def set_by_index(here: Device, array: Any, rows: Any, columns: Any, values: Any) -> Any:
    """Return a matrix with new numbers at some places; it may be the same one, written to."""
    xp = here.xp
    if compat.is_torch_namespace(xp) or compat.is_cupy_namespace(xp):
        array[rows, columns] = values
        return array
    changed = np.array(to_numpy(array))
    changed[to_numpy(rows), to_numpy(columns)] = to_numpy(values)
    return here.put(changed)


def product_rounding(xp: Any) -> float:
    """Return how much a matrix product may round float32 factors before it multiplies them.

    0 unless the user allows the library to trade digits for speed, as in TF32.
    """
    is_torch, is_cupy = compat.is_torch_namespace(xp), compat.is_cupy_namespace(xp)
    allowed = ["highest"]
    # NVIDIA's own switch goes over the head of a library.
    if (is_torch or is_cupy) and _is_set("NVIDIA_TF32_OVERRIDE"):
        allowed.append("tf32")
    if is_cupy and _is_set("CUPY_TF32"):
        allowed.append("tf32")
    if is_torch:
        try:
            allowed.append(xp.get_float32_matmul_precision())
        except RuntimeError:  # so torch answers once its newer switches are used
            backends = xp.backends.cuda, xp.backends.mkldnn
            allowed += [backend.matmul.fp32_precision for backend in backends]
    return max(FACTOR_ROUNDING[precision] for precision in allowed)


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "0") not in ("", "0")
