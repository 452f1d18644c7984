"""Assignments to files, a few thousand rows at a time; a file appears whole or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np

from stickbreak.cli.rows import Answers
from stickbreak.data.arrow import need_pyarrow
from stickbreak.errors import FileError, OptionError

ENDINGS = (".csv", ".parquet", ".npy")
_GROUP_ROWS = 1 << 17

Table = dict[str, np.ndarray]


def check_target(path: Path, option: str, endings: tuple[str, ...] = ()) -> None:
    """Raise an error unless a file can be written: better before the work than after it.

    Parameters
    ----------
    path : Path
        The file.
    option : str
        The option that named it.
    endings : tuple of str
        Endings of its name that will do; any if there are none.
    """
    if endings and path.suffix.lower() not in endings:
        raise OptionError(f"{option} {path} must end in {' or '.join(endings)}.")
    if path.is_dir():
        raise FileError(f"{option} {path} is a folder; give the name of a file.")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise FileError(f"can't write {option} {path}: there is no folder {folder}.")
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise FileError(f"can't write {option} {path} in its folder: {error.strerror}.") from error
    if path.suffix.lower() == ".parquet":
        need_pyarrow("Writing Parquet files")


def columns_of(found: Answers, *, probabilities: bool) -> Table:
    """Arrange answers as columns with names."""
    table: Table = {"cluster": found.cluster, "probability": found.probability}
    if found.log_density is not None:
        table["log_density"] = found.log_density
    if probabilities:
        table |= {f"cluster_{k}": share for k, share in enumerate(found.each.T)}
    return table


class Writer:
    """Writes tables to a stream; a subclass knows the format."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return

    @abstractmethod
    def write(self, table: Table) -> None:
        """Add rows."""


class CsvWriter(Writer):
    """Text with a line of names."""

    _named = False

    def write(self, table: Table) -> None:
        """Add rows."""
        if not self._named:
            self._file.write((",".join(table) + "\n").encode())
            self._named = True
        line = ",".join("%d" if values.dtype.kind in "iu" else "%.6g" for values in table.values()) + "\n"
        rows = zip(*(values.tolist() for values in table.values()), strict=True)
        self._file.write("".join([line % row for row in rows]).encode())


class NpyWriter(Writer):
    """Clusters alone, as an array of int64."""

    def __init__(self, file: IO[bytes], n_rows: int) -> None:
        super().__init__(file)
        head = {"descr": "<i8", "fortran_order": False, "shape": (n_rows,)}
        np.lib.format.write_array_header_1_0(file, head)

    def write(self, table: Table) -> None:
        """Add rows."""
        self._file.write(table["cluster"].astype("<i8").tobytes())


class ParquetWriter(Writer):
    """A Parquet file; rows are gathered, as small row groups make slow files."""

    _writer: Any = None
    _n_waiting = 0

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file)
        self._waiting: list[Any] = []

    def write(self, table: Table) -> None:
        """Add rows."""
        import pyarrow as pa

        self._waiting.append(pa.table(table))
        self._n_waiting += self._waiting[-1].num_rows
        if self._n_waiting >= _GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet

        table = pa.concat_tables(self._waiting)
        if self._writer is None:
            self._writer = pyarrow.parquet.ParquetWriter(self._file, table.schema)
        self._writer.write_table(table)
        self._waiting, self._n_waiting = [], 0

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._waiting:
            self._flush()
        if self._writer is not None:
            self._writer.close()


def write_tables(tables: Iterable[Table], path: Path, n_rows: int) -> None:
    """Write tables to a file, in the format that its name's ending tells, by way of a temporary one beside it.

    Parameters
    ----------
    tables : iterable of dict
        Consecutive rows.
    path : Path
        The file.
    n_rows : int
        Rows in all.
    """
    with _replacing(path) as file, _writer(file, path.suffix.lower(), n_rows) as writer:
        for table in tables:
            writer.write(table)


def print_tables(tables: Iterable[Table]) -> None:
    """Write tables to standard output as CSV."""
    writer = CsvWriter(sys.stdout.buffer)
    for table in tables:
        writer.write(table)
    sys.stdout.flush()


def _writer(file: IO[bytes], ending: str, n_rows: int) -> Writer:
    if ending == ".npy":
        return NpyWriter(file, n_rows)
    return ParquetWriter(file) if ending == ".parquet" else CsvWriter(file)


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that takes its place when it is complete; whoever looks never sees half of it."""
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise FileError(f"can't write {path}: {error.strerror or error}. Nothing was changed there.") from error
    finally:
        part.unlink(missing_ok=True)
