"""NumPy's own files: .npy read piece by piece, and sparse matrices in .npz."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy_format
from scipy import sparse

from stickbreak.data.base import check_shape
from stickbreak.data.convert import check_2d, float_dtype, to_float
from stickbreak.data.ranges import RangeSource
from stickbreak.data.resident import SparseSource
from stickbreak.errors import FileError, FormatError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from stickbreak.core.arrays import Dense
    from stickbreak.data.encoding import Schema


class NpySource(RangeSource):
    """A 2-D array in an .npy file, read by plain file reads.

    Parameters
    ----------
    path : Path
        The file.
    schema : Schema, optional
        How the columns become numbers.
    """

    def __init__(self, path: Path, *, schema: Schema | None = None) -> None:
        self.label = str(path)
        self._path = path
        with _open(path) as file:
            shape, self._stored, self._offset = _header(file, path)
        self.n_rows, self.n_columns = shape
        self.dtype = np.dtype(np.float64) if schema is not None else float_dtype(self._stored)
        if schema is not None:
            schema.match(None, self.n_columns)
            self.names = schema.names
        self._schema = schema

    def read(self, start: int, stop: int) -> Iterator[Dense]:
        """Read a range of rows."""
        for rows in self.read_stored(start, stop):
            if self._schema is None:
                yield to_float(rows)
            else:
                yield self._schema.encode(rows, where=slice(start, start + len(rows), 1))
            start += len(rows)

    def read_stored(self, start: int, stop: int) -> Iterator[npt.NDArray[Any]]:
        """Read a range of rows in the type they are stored in."""
        with _open(self._path) as file:
            file.seek(self._offset + start * self.n_columns * self._stored.itemsize)
            for low in range(start, stop, self.rows_per_piece):
                yield self._load(file, low, min(low + self.rows_per_piece, stop))

    def _load(self, file: BinaryIO, start: int, stop: int) -> npt.NDArray[Any]:
        cells = (stop - start) * self.n_columns
        values = np.fromfile(file, dtype=self._stored, count=cells)
        if len(values) < cells:
            raise FormatError(f"{self._path} ended at row {start} or soon after; it was cut while being read.")
        return values.reshape(-1, self.n_columns)


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise FileError(f"{path} can't be read: {error.strerror}.") from error


def _header(file: BinaryIO, path: Path) -> tuple[tuple[int, int], np.dtype[Any], int]:
    try:
        version = npy_format.read_magic(file)
        read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
        shape, fortran, dtype = read(file)
    except (ValueError, EOFError) as error:
        raise FormatError(f"{path} is not a .npy file that can be read: {error}.") from error
    try:
        check_2d(shape)
        check_shape(*shape)
        float_dtype(dtype)
    except InputError as error:
        raise FormatError(f"{path}: {error}") from error
    if fortran and 1 not in shape:
        raise FormatError(
            f"{path} is stored column by column (Fortran order), so that rows can't be read piece by piece; "
            "write it anew by np.save(path, np.ascontiguousarray(np.load(path)))."
        )
    _check_length(path, file.tell(), shape[0] * shape[1] * dtype.itemsize)
    return (shape[0], shape[1]), dtype, file.tell()


def _check_length(path: Path, offset: int, expected: int) -> None:
    found = path.stat().st_size - offset
    if found < expected:
        raise FormatError(
            f"{path} is truncated: its header promises {expected} bytes of data, and {found} are there. "
            "Write or copy it again."
        )


def open_npz(path: Path, *, schema: Schema | None = None) -> SparseSource:
    """Load a sparse matrix that `scipy.sparse.save_npz` wrote.

    Parameters
    ----------
    path : Path
        The file.
    schema : Schema, optional
        Checked for its width.

    Returns
    -------
    SparseSource
        The matrix, held in memory.
    """
    try:
        # NumPy takes what is no zip archive for a pickle, and its message then advises to load it unsafely.
        if not zipfile.is_zipfile(path):
            raise zipfile.BadZipFile("it is truncated, or of another kind")  # noqa: TRY301  the handler names the path
        X = sparse.load_npz(path)
    except (ValueError, KeyError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise FormatError(
            f"{path} holds no sparse matrix that can be read: {error}. scipy.sparse.save_npz writes such files; "
            "for dense arrays use numpy.save and a name that ends in .npy."
        ) from error
    return SparseSource(X, schema=schema)
