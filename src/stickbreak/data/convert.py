"""From any numeric array to float32 or float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stickbreak.errors import DataError, InputError

if TYPE_CHECKING:
    from stickbreak.core.arrays import Dense

_SINGLE = np.dtype(np.float32)
_DOUBLE = np.dtype(np.float64)


def float_dtype(dtype: npt.DTypeLike) -> np.dtype[np.floating[Any]]:
    """Choose the floating type that an array's values are handed on in.

    Parameters
    ----------
    dtype : dtype
        Type of the array.

    Returns
    -------
    dtype
        float32 for half and single precision, else float64.

    Examples
    --------
    >>> float_dtype("int8"), float_dtype("float16")
    (dtype('float64'), dtype('float32'))
    """
    dtype = np.dtype(dtype)
    if dtype.kind in "biu":
        return _DOUBLE
    if dtype.kind == "f":
        return _SINGLE if dtype.itemsize <= _SINGLE.itemsize else _DOUBLE
    raise _unusable(dtype)


def _unusable(dtype: np.dtype[Any]) -> InputError:
    if dtype.kind == "c":
        return InputError("Complex data not supported; give real and imaginary parts as columns of their own.")
    if dtype.kind in "OUST":
        return DataError(
            f"The array's dtype is {dtype}, and columns must be numeric; convert it by X.astype(float), "
            "or use family='mixed' for text and categories."
        )
    return InputError(f"The array's dtype is {dtype}, and columns must be numeric; convert it to numbers first.")


def to_float(rows: npt.NDArray[Any]) -> Dense:
    """Convert rows to native float32 or float64; such rows are returned as they are.

    Parameters
    ----------
    rows : ndarray
        Rows of numbers or booleans.

    Returns
    -------
    ndarray of float32 or float64
        The same values.
    """
    return rows.astype(float_dtype(rows.dtype), copy=False)


def check_2d(shape: tuple[int, ...]) -> None:
    """Refuse arrays that are not tables, in scikit-learn's words."""
    if len(shape) == 2:
        return
    if len(shape) > 2:
        raise InputError(f"Found array with dim {len(shape)}, while dim <= 2 is required: expected 2D array.")
    kind = "scalar" if len(shape) == 0 else "1D"
    raise InputError(
        f"Expected 2D array, got {kind} array instead (shape={shape}). Reshape your data either using "
        "array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it contains a single sample."
    )
