"""Memory-mapped arrays, read without letting the file fill the memory."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stickbreak.data.base import check_shape
from stickbreak.data.convert import check_2d, float_dtype, to_float
from stickbreak.data.ranges import RangeSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stickbreak.core.arrays import Dense
    from stickbreak.data.encoding import Schema


def memory_map_of(X: npt.NDArray[Any]) -> np.memmap[Any, Any] | None:
    """Find the memory map that an array is a view of.

    Parameters
    ----------
    X : ndarray
        Any array.

    Returns
    -------
    memmap or None
        The map; None if the array is in memory.

    Examples
    --------
    >>> memory_map_of(np.ones(3)) is None
    True
    """
    # scikit-learn and joblib hand on plain arrays whose base is the map, so that the type alone does not tell.
    found: Any = X
    while isinstance(found, np.ndarray):
        if isinstance(found, np.memmap) and getattr(found, "_mmap", None) is not None:
            return found
        found = found.base
    return None


class MappedSource(RangeSource):
    """An array in a memory-mapped file.

    Its pieces are copies, and the pages they were copied from are given back at once: the process's memory
    stays small while the system may keep the file cached.

    Parameters
    ----------
    X : ndarray
        A memory map, or a view of one.
    mapped : memmap
        The map itself, as found by `memory_map_of`.
    schema : Schema, optional
        How the columns become numbers.
    """

    def __init__(self, X: npt.NDArray[Any], mapped: np.memmap[Any, Any], *, schema: Schema | None = None) -> None:
        check_2d(X.shape)
        check_shape(*X.shape)
        self.dtype = np.dtype(np.float64) if schema is not None else float_dtype(X.dtype)
        if schema is not None:
            schema.match(None, X.shape[1])
            self.names = schema.names
        self.label = f"the memory map of {mapped.filename}"
        self._X = np.asarray(X)
        self._schema = schema
        self._pages = _Pages(mapped)
        self.n_rows, self.n_columns = X.shape

    def read(self, start: int, stop: int) -> Iterator[Dense]:
        """Copy a range of rows."""
        for low in range(start, stop, self.rows_per_piece):
            yield self._copy(slice(low, min(low + self.rows_per_piece, stop)))

    def _copy(self, where: slice) -> Dense:
        view = self._X[where]
        rows = to_float(view) if self._schema is None else self._schema.encode(view, where=where)
        if rows is view:
            rows = view.copy()
        self._pages.release(view)
        return rows


class _Pages:
    """Gives a memory map's pages back to the system."""

    def __init__(self, mapped: np.memmap[Any, Any]) -> None:
        self._map: mmap.mmap = mapped._mmap  # type: ignore[attr-defined]  # noqa: SLF001  NumPy offers no other way
        # In a copy-on-write map the pages may hold changes that are nowhere else, and those would be lost.
        self._can = hasattr(mmap, "MADV_DONTNEED") and mapped.filename is not None and mapped.mode in {"r", "r+", "w+"}
        self._first = np.frombuffer(self._map, dtype=np.uint8).ctypes.data if self._can else 0

    def release(self, view: npt.NDArray[Any]) -> None:
        if not self._can:
            return
        reach = [(size - 1) * stride for size, stride in zip(view.shape, view.strides, strict=True)]
        start = view.ctypes.data - self._first
        low = (start + sum(min(step, 0) for step in reach)) // mmap.PAGESIZE * mmap.PAGESIZE
        high = start + sum(max(step, 0) for step in reach) + view.itemsize
        self._map.madvise(mmap.MADV_DONTNEED, low, high - low)
