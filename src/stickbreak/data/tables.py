"""Table files: Arrow IPC (Feather) and Parquet, a range of rows at a time."""

from __future__ import annotations

import weakref
from abc import abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from stickbreak.data.arrow import need_pyarrow, table_dtype, table_floats
from stickbreak.data.base import PIECE_BYTES, check_names, check_shape, pick_columns
from stickbreak.data.ranges import RangeSource
from stickbreak.errors import FileError, FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from stickbreak.core.arrays import Dense
    from stickbreak.data.encoding import Schema

_GIANT_BYTES = 4 * PIECE_BYTES
"""A Parquet row group larger than this is divided: reaching its later parts means decoding the earlier ones again."""


class TableSource(RangeSource):
    """A file of columns, read as Arrow record batches.

    Parameters
    ----------
    path : Path
        The file.
    columns : sequence of str, optional
        The columns to read, in this order; all by default.
    schema : Schema, optional
        How the columns become numbers; without it they must be numeric.
    """

    names: tuple[str, ...]

    def __init__(
        self,
        path: Path,
        *,
        columns: Sequence[str] | None = None,
        schema: Schema | None = None,
        label: str | None = None,
    ) -> None:
        self.path = path
        self.label = label or str(path)
        self.schema = schema
        with readable(path):
            self.fields = self._open()
        names = check_names(self.fields.names, self.label) or ()
        picked = pick_columns(names, columns, self.label)
        self.names = names if picked is None else tuple(names[j] for j in picked)
        if schema is not None:
            order = schema.match(self.names, len(self.names))
            self.names = tuple(self.names[j] for j in order)
        self.n_columns = len(self.names)
        check_shape(self.n_rows, self.n_columns)
        kinds = [self.fields.field(name).type for name in self.names]
        self.dtype = np.dtype(np.float64) if schema is not None else table_dtype(kinds)

    @abstractmethod
    def _open(self) -> Any:
        """Read the file's schema, and set `n_rows`."""

    @abstractmethod
    def batches(self, start: int, stop: int) -> Iterator[Any]:
        """Read a range of rows as record batches, a piece or less at a time."""

    def read(self, start: int, stop: int) -> Iterator[Dense]:
        """Read a range of rows."""
        for batch in self.batches(start, stop):
            if self.schema is None:
                yield table_floats(batch)
            else:
                yield self.schema.encode(batch, where=slice(start, start + batch.num_rows, 1))
            start += batch.num_rows


class IpcSource(TableSource):
    """An Arrow IPC or Feather file.

    The file is mapped anew for each piece: what was mapped for the last one is then no longer counted as the
    process's memory.

    Parameters
    ----------
    path : Path
        The file.
    columns : sequence of str, optional
        The columns to read, in this order; all by default.
    schema : Schema, optional
        How the columns become numbers.
    label : str, optional
        What to call the file in messages.
    temporary : bool, default=False
        Whether to remove the file on closing, or when the source is collected.
    """

    def __init__(
        self,
        path: Path,
        *,
        columns: Sequence[str] | None = None,
        schema: Schema | None = None,
        label: str | None = None,
        temporary: bool = False,
    ) -> None:
        self._remove = weakref.finalize(self, path.unlink, missing_ok=True) if temporary else None
        try:
            super().__init__(path, columns=columns, schema=schema, label=label)
        except BaseException:
            self.close()
            raise

    def _open(self) -> Any:
        # Of a file that is not compressed this reads no data, only where the batches are and how many rows they have.
        with self._mapped() as reader:
            fields = reader.schema
            sizes = [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]
        self._offsets = np.cumsum([0, *sizes])
        self.n_rows = int(self._offsets[-1])
        return fields

    @contextmanager
    def _mapped(self) -> Iterator[Any]:
        pa = need_pyarrow("Reading Arrow files")
        import pyarrow.ipc

        with pa.memory_map(str(self.path)) as file, pyarrow.ipc.open_file(file) as reader:
            yield reader

    def batches(self, start: int, stop: int) -> Iterator[Any]:
        """Read a range of rows as record batches, a piece or less at a time."""
        with readable(self.path):
            for low in range(start, stop, self.rows_per_piece):
                with self._mapped() as reader:
                    yield from self._overlapping(reader, low, min(low + self.rows_per_piece, stop))

    def _overlapping(self, reader: Any, start: int, stop: int) -> Iterator[Any]:
        first = int(np.searchsorted(self._offsets, start, side="right")) - 1
        for i in range(first, len(self._offsets) - 1):
            begin, end = int(self._offsets[i]), int(self._offsets[i + 1])
            if begin >= stop:
                return
            low, high = max(start, begin), min(stop, end)
            if low < high:
                yield reader.get_batch(i).select(list(self.names)).slice(low - begin, high - low)

    def close(self) -> None:
        """Remove the file if it is temporary."""
        if self._remove is not None:
            self._remove()


class ParquetSource(TableSource):
    """A Parquet file. A block is one or more row groups; giant row groups are divided.

    Parameters
    ----------
    path : Path
        The file.
    columns : sequence of str, optional
        The columns to read, in this order; all by default.
    schema : Schema, optional
        How the columns become numbers.
    """

    def __init__(self, path: Path, *, columns: Sequence[str] | None = None, schema: Schema | None = None) -> None:
        super().__init__(path, columns=columns, schema=schema)
        giant = max(1, _GIANT_BYTES // (self.n_columns * self.dtype.itemsize))
        groups = zip(self._offsets[:-1].tolist(), self._offsets[1:].tolist(), strict=True)
        self.starts = np.concatenate([np.arange(begin, end, giant, dtype=np.int64) for begin, end in groups])

    def _open(self) -> Any:
        need_pyarrow("Reading Parquet files")
        import pyarrow.parquet

        with pyarrow.parquet.ParquetFile(self.path) as file:
            self._metadata = file.metadata
            fields = file.schema_arrow
        sizes = [self._metadata.row_group(g).num_rows for g in range(self._metadata.num_row_groups)]
        self._offsets = np.cumsum([0, *sizes])
        self.n_rows = int(self._offsets[-1])
        return fields

    def batches(self, start: int, stop: int) -> Iterator[Any]:
        """Read a range of rows as record batches, a piece or less at a time."""
        import pyarrow.parquet

        with readable(self.path), pyarrow.parquet.ParquetFile(self.path, metadata=self._metadata) as file:
            for group, begin in enumerate(self._offsets[:-1].tolist()):
                if begin < stop and start < self._offsets[group + 1]:
                    yield from self._group(file, group, start - begin, stop - begin)

    def _group(self, file: Any, group: int, start: int, stop: int) -> Iterator[Any]:
        """Read rows of one row group, numbered from its first."""
        names = list(self.names)
        row = 0
        for batch in file.iter_batches(batch_size=self.rows_per_piece, row_groups=[group], columns=names):
            low, high = max(start - row, 0), min(stop - row, batch.num_rows)
            if low < high:
                yield batch.select(names).slice(low, high - low)
            row += batch.num_rows
            if row >= stop:
                return


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn pyarrow's errors into errors that name the file.

    Parameters
    ----------
    path : Path
        The file that is read inside the with statement.
    """
    pa = need_pyarrow(f"Reading {path}")
    try:
        yield
    except FileError:
        raise
    except pa.ArrowException as error:
        raise FormatError(f"{path} can't be read; it is truncated or of another kind: {error}") from error
    except OSError as error:
        raise FileError(f"{path} can't be read: {error}") from error
