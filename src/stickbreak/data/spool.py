"""CSV, parsed once into a temporary Arrow file that can then be read in any order."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stickbreak.data.arrow import need_pyarrow
from stickbreak.data.base import check_names, check_shape, pick_columns
from stickbreak.data.tables import IpcSource
from stickbreak.errors import FileError, FormatError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stickbreak.data.encoding import Schema

_BLOCK_BYTES = 4 << 20
_WRONG_TYPE = re.compile(r"In CSV column #(\d+): .*conversion error to (\w+)")


def open_csv(
    path: Path, delimiter: str, *, columns: Sequence[str] | None = None, schema: Schema | None = None
) -> IpcSource:
    """Open a text table, compressed or not.

    Parameters
    ----------
    path : Path
        The file. Its first line names the columns; empty cells, NA, NaN and null are missing.
    delimiter : str
        What stands between cells.
    columns : sequence of str, optional
        The columns to read.
    schema : Schema, optional
        How the columns become numbers.

    Returns
    -------
    IpcSource
        The table, in a temporary file that is removed with it.
    """
    need_pyarrow("Reading CSV files")
    names = _header(path, delimiter)
    pick_columns(names, columns, str(path))
    types = {} if schema is None else schema.text_columns(columns or names)
    spooled = _Spool(path, delimiter, names, list(columns or names), types).run()
    return IpcSource(spooled, columns=columns, schema=schema, label=str(path), temporary=True)


def _header(path: Path, delimiter: str) -> tuple[str, ...]:
    with _reader(path, delimiter, [], {}) as reader:
        names = check_names(reader.schema.names, str(path)) or ()
    check_shape(1, len(names))
    if all(_is_number(name) for name in names):
        raise FormatError(
            f"The first line of {path} holds nothing but numbers ({', '.join(names[:5])}); it must name the columns. "
            "Add a line of names."
        )
    return names


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _reader(path: Path, delimiter: str, columns: list[str], types: dict[str, Any]) -> Any:
    pa = need_pyarrow("Reading CSV files")
    from pyarrow import csv

    try:
        return csv.open_csv(
            str(path),
            # Only a parser without threads tells the number of a ragged row.
            read_options=csv.ReadOptions(block_size=_BLOCK_BYTES, use_threads=False),
            parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(column_types=types, include_columns=columns, strings_can_be_null=True),
        )
    except pa.ArrowInvalid as error:
        raise _unreadable(path, error) from error
    except OSError as error:
        raise FileError(f"{path} can't be read: {error}") from error


def _unreadable(path: Path, error: Exception) -> FormatError:
    hint = (
        " (the line of names is row 1). Give every row as many cells as there are names"
        if "Row #" in str(error)
        else ""
    )
    return FormatError(f"{path} is not a table that can be read: {error}{hint}.")


class _Spool:
    """Writes a text table as an Arrow file, and begins again with a wider type where a column needs it.

    The types are guessed from the first block. A later one can hold 0.5 in a column of whole numbers so far, or
    text in a column that was empty.
    """

    def __init__(
        self, path: Path, delimiter: str, names: tuple[str, ...], columns: list[str], types: dict[str, str]
    ) -> None:
        self._path = path
        self._delimiter = delimiter
        self._names = names
        self._columns = columns
        self._types = {name: need_pyarrow("Reading CSV files").type_for_alias(kind) for name, kind in types.items()}

    def run(self) -> Path:
        handle, name = tempfile.mkstemp(prefix="stickbreak-", suffix=".arrow")
        os.close(handle)
        target = Path(name)
        try:
            while not self._written(target):
                pass
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        return target

    def _written(self, target: Path) -> bool:
        pa = need_pyarrow("Reading CSV files")
        with _reader(self._path, self._delimiter, self._columns, self._types) as reader:
            self._check_text(reader.schema)
            try:
                self._write(reader, target)
            except pa.ArrowInvalid as error:
                self._widen(error)
                return False
        return True

    def _check_text(self, fields: Any) -> None:
        for field in fields:
            if str(field.type) == "binary":  # pyarrow's type for text that it can't decode
                raise FormatError(
                    f"{self._path}: column {field.name!r} holds text that is not UTF-8; convert the file."
                )

    def _write(self, reader: Any, target: Path) -> None:
        import pyarrow as pa
        import pyarrow.ipc

        try:
            with pa.OSFile(str(target), "wb") as sink, pyarrow.ipc.new_file(sink, reader.schema) as writer:
                for batch in reader:
                    writer.write_batch(batch)
        except OSError as error:
            raise self._no_room(error, target) from error

    def _no_room(self, error: OSError, target: Path) -> FileError:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            return FileError(
                f"No space left in {target.parent} while turning {self._path} into a temporary Arrow file; make "
                "room, set TMPDIR to a larger disk, or convert the file to Parquet."
            )
        return FileError(f"{self._path} can't be turned into a temporary Arrow file in {target.parent}: {error}")

    def _widen(self, error: Exception) -> None:
        found = _WRONG_TYPE.search(str(error))
        if found is None or found[2] in {"string", "large_string"}:
            raise _unreadable(self._path, error) from error
        name = self._names[int(found[1])]
        wider = {"null": "int64", "int64": "float64"}.get(found[2], "string")
        self._types[name] = need_pyarrow("Reading CSV files").type_for_alias(wider)
