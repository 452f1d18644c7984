"""Recognising what data were given, before anything is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from stickbreak.data.frames import frame_kind
from stickbreak.errors import InputError

Kind = Literal["path", "frame", "sparse", "array", "list", "iterable"]


def recognise(data: Any) -> Kind:
    """Tell how data are to be opened.

    Parameters
    ----------
    data : object
        What the user gave.

    Returns
    -------
    str
        "path", "frame", "sparse" or "array"; "list" for a list or tuple of blocks; "iterable" for an object that
        gives blocks anew each time it is iterated over.

    Raises
    ------
    InputError
        For an iterator, which would be used up after one pass, and for what can't be data.

    Examples
    --------
    >>> recognise([[1, 2], [3, 4]]), recognise([np.ones((2, 2)), np.ones((3, 2))])
    ('array', 'list')
    """
    if isinstance(data, (str, os.PathLike)):
        return "path"
    if frame_kind(data) is not None:
        return "frame"
    if sparse.issparse(data):
        return "sparse"
    if isinstance(data, (list, tuple)):
        return "list" if len(data) > 0 and _is_block(data[0]) else "array"
    if hasattr(data, "__array__"):
        return "array"
    _check_iterable(data)
    return "iterable"


def _is_block(item: Any) -> bool:
    if isinstance(item, os.PathLike) or sparse.issparse(item):
        return True
    if isinstance(item, np.ndarray) or hasattr(item, "__array__"):
        return getattr(item, "ndim", 2) == 2
    return frame_kind(item) is not None


def _check_iterable(data: Any) -> None:
    name = type(data).__name__
    if isinstance(data, (Mapping, set, frozenset, bytes, bytearray)) or not _iterates(data):
        raise InputError(
            f"Rows can't be read from an object of type {name}; give a 2-D array, a frame, a sparse matrix, the path "
            "of a file, or a list of such blocks."
        )
    if iter(data) is data:
        raise InputError(
            f"An iterator ({name}) can be read only once, and fitting takes several passes; give a list of blocks, or "
            "an object whose __iter__ method begins anew each time."
        )


def _iterates(data: Any) -> bool:
    if isinstance(data, Iterable):
        return True
    return hasattr(data, "__getitem__") and hasattr(data, "__len__")


def as_array(data: Any, *, objects: bool = False) -> npt.NDArray[Any]:
    """Make an array of an array-like.

    Parameters
    ----------
    data : array-like
        An array, or lists of numbers. Masked cells become missing.
    objects : bool, default=False
        Whether lists keep their Python values, as is needed where numbers and text are mixed.

    Returns
    -------
    ndarray
        The array, not copied if it is one already.
    """
    if isinstance(data, np.ma.MaskedArray):
        if data.dtype.kind in "OUST":
            return np.ma.filled(data.astype(object), None)
        return np.ma.filled(data.astype(np.result_type(data.dtype, np.float32)), np.nan)
    try:
        return np.asarray(data, dtype=object if objects and isinstance(data, (list, tuple)) else None)
    except ValueError as error:
        raise InputError(f"The rows don't form a 2-D array: {error}") from error
