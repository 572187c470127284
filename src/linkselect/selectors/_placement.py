"""What a selector does with arrays on a device: checks of `transform`, and its inverse."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import _array_api

from linkselect._arrays import BoolArray
from linkselect._samples.devices import Device, OutOfDeviceMemoryError, device_of


def check_placement(selector: Any, X: Any) -> None:
    """Refuse to transform X by a selector that was fitted to an array of another library."""
    if device_of(X) is None and device_of(selector.support_) is None:
        return
    # scikit-learn has it from 1.9 on; before that, indexing fails with the library's own message.
    check = getattr(_array_api, "check_same_namespace", None)
    if check is not None:
        check(X, selector, attribute="support_", method="transform")


def with_zeros(here: Device, X: Any, support: BoolArray) -> Any:
    """Return X with columns of zeros where features were left out."""
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
