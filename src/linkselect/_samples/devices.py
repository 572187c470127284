"""Helper functions for arrays of other libraries, such as PyTorch and CuPy.

Every computation on X has one version for NumPy and one that uses the array API standard. The
second version supports all other libraries and keeps arrays on their device. This module contains
helpers for the second version, including three operations that the standard lacks. It does not
import any array library, because users who pass such arrays have already imported it.
"""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.externals import array_api_compat as compat
from sklearn.utils import _array_api

from linkselect._arrays import BoolArray
from linkselect._messages import GuidedError

# The number of float64 values in a block: 0.5 GB for each temporary array.
BLOCK_SIZE = 1 << 26
# The largest number of entries in a 0/1 matrix of group membership, used to sum groups.
MEMBERSHIP_SIZE = 1 << 27
# Relative rounding error of factors with 10 or 7 bits: TF32 and bfloat16, by PyTorch's old and new
# names.
FACTOR_ROUNDING = {
    **dict.fromkeys(("highest", "ieee", "none"), 0.0),
    **dict.fromkeys(("high", "tf32"), 2.0**-10),
    **dict.fromkeys(("medium", "bf16"), 2.0**-7),
}


class OutOfDeviceMemoryError(GuidedError, MemoryError):
    """The device of X has run out of memory."""


@dataclass(frozen=True)
class Device:
    """An array library and one of its devices.

    Attributes
    ----------
    xp : module
        The array API namespace of the library.
    device : object
        The device on which the library stores the array.
    """

    xp: Any
    device: Any

    def put(self, values: Any) -> Any:
        """Copy a NumPy array to the device, with the same dtype."""
        # Some libraries reject arrays that are read-only or have negative strides.
        values = np.array(values)
        return self.xp.asarray(values, device=self.device)

    def float64(self, array: Any) -> Any:
        """Convert an array on the device to float64; a float64 array is returned unchanged."""
        return self.xp.astype(array, self.xp.float64, copy=False)

    def zeros(self, *shape: int) -> Any:
        """Return a float64 array of zeros on the device."""
        return self.xp.zeros(shape, dtype=self.xp.float64, device=self.device)

    def arange(self, start: int, stop: int) -> Any:
        """Return the integers from `start` to `stop - 1` as an array on the device."""
        return self.xp.arange(start, stop, dtype=self.xp.int64, device=self.device)


def device_of(X: Any) -> Device | None:
    """Return the device of an array; None for NumPy arrays and objects that are not arrays."""
    if isinstance(X, np.ndarray) or not compat.is_array_api_obj(X) or compat.is_numpy_array(X):
        return None
    if compat.is_dask_array(X):
        return None
    return Device(compat.array_namespace(X), compat.device(X))


def namespace_of(array: Any) -> Any:
    """Return the namespace of an array: NumPy, or the array API namespace of its library."""
    here = device_of(array)
    return np if here is None else here.xp


def to_numpy(array: Any) -> Any:
    """Copy an array from its device to NumPy; anything else is returned unchanged."""
    here = device_of(array)
    return array if here is None else _array_api._convert_to_numpy(array, here.xp)


def check_placement(selector: Any, X: Any) -> None:
    """Raise an error if the selector was fitted to an array of a different library."""
    if device_of(X) is None and device_of(selector.support_) is None:
        return
    # Available since scikit-learn 1.9. In older versions, indexing raises the library's own error.
    check = getattr(_array_api, "check_same_namespace", None)
    if check is not None:
        check(X, selector, attribute="support_", method="transform")


def with_zeros(X: Any, support: BoolArray) -> Any:
    """Insert zero columns for features that were not selected.

    Return None if X is not on a device.
    """
    if (here := device_of(X)) is None:
        return None
    if X.shape[1] != support.sum():
        raise ValueError("X does not have the same shape as during fitting.")
    xp = here.xp
    # The column after the last one is all zeros.
    source = np.where(support, np.cumsum(support) - 1, X.shape[1])
    zeros = xp.zeros((X.shape[0], 1), dtype=X.dtype, device=here.device)
    return xp.take(xp.concat([X, zeros], axis=1), here.put(source), axis=1)


def out_of_memory(error: BaseException) -> OutOfDeviceMemoryError:
    """Return the error for a device that ran out of memory."""
    return OutOfDeviceMemoryError(
        f"The device of X ran out of memory ({str(error).splitlines()[0]}).",
        "In addition to X, fitting requires a few GB for blocks, and a float32 copy of X if "
        "nearest neighbours are computed. Free memory on the device, pass X in float32, or fit on "
        "the CPU: use X.cpu().numpy() for torch and cupy.asnumpy(X) for cupy.",
        "X",
    )


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error means that a device ran out of memory."""
    return type(error).__name__ == "OutOfMemoryError"


# -- operations that the standard lacks -----------------------------------------------------


def k_smallest(xp: Any, values: Any, k: int) -> tuple[Any, Any]:
    """Return the k smallest values of each row, in ascending order, and their columns."""
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
    """Sum the weighted rows that share an index; the result has shape (total, n_columns)."""
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
    """Return a matrix with some entries replaced; the input matrix may be modified."""
    xp = here.xp
    if compat.is_torch_namespace(xp) or compat.is_cupy_namespace(xp):
        array[rows, columns] = values
        return array
    changed = np.array(to_numpy(array))
    changed[to_numpy(rows), to_numpy(columns)] = to_numpy(values)
    return here.put(changed)


def product_rounding(xp: Any) -> float:
    """Return the relative rounding error of the factors of a float32 matrix product.

    The error is 0 unless the user allows the library to reduce precision for speed, for example
    with TF32.
    """
    is_torch, is_cupy = compat.is_torch_namespace(xp), compat.is_cupy_namespace(xp)
    allowed = ["highest"]
    # NVIDIA's own environment variable overrides the settings of a library.
    if (is_torch or is_cupy) and _is_set("NVIDIA_TF32_OVERRIDE"):
        allowed.append("tf32")
    if is_cupy and _is_set("CUPY_TF32"):
        allowed.append("tf32")
    if is_torch:
        try:
            allowed.append(xp.get_float32_matmul_precision())
        except RuntimeError:  # PyTorch raises this once its newer settings are used
            backends = xp.backends.cuda, xp.backends.mkldnn
            allowed += [backend.matmul.fp32_precision for backend in backends]
    return max(FACTOR_ROUNDING[precision] for precision in allowed)


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "0") not in ("", "0")
