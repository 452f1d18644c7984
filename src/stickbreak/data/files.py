"""Files and folders of files, by the ends of their names."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from stickbreak.data.arrow import check_numeric
from stickbreak.data.base import Source, pick_columns
from stickbreak.data.npy import NpySource, open_npz
from stickbreak.data.ranges import JoinedSource, RangeSource
from stickbreak.data.spool import open_csv
from stickbreak.data.tables import IpcSource, ParquetSource, TableSource
from stickbreak.errors import FileError, SchemaError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from stickbreak.data.encoding import Schema

_KINDS = {
    ".npy": "npy",
    ".npz": "npz",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "tsv",
    ".tsv.gz": "tsv",
}
_DELIMITERS = {"csv": ",", "tsv": "\t"}


def open_path(path: Path, *, columns: Sequence[str] | None = None, schema: Schema | None = None) -> Source:
    """Open a file, or a folder of files of one kind.

    Parameters
    ----------
    path : Path
        A .npy, .npz, .parquet, .pq, .arrow, .feather, .ipc, .csv or .tsv file (.gz too for text), or a folder.
    columns : sequence of str, optional
        The columns to read from tables.
    schema : Schema, optional
        How the columns become numbers.

    Returns
    -------
    Source
        The rows.
    """
    paths = _files(path)
    kind = _kind(paths[0])
    if kind in {"npy", "npz"}:
        pick_columns(None, columns, str(path))
    if kind == "npz":
        if len(paths) > 1:
            raise FileError(f"{path} holds several .npz files; give a list of their names instead of the folder.")
        return open_npz(paths[0], schema=schema)
    parts: Sequence[RangeSource]
    parts = npy_parts(path, schema=schema) if kind == "npy" else open_tables(path, columns=columns, schema=schema)
    return parts[0] if len(parts) == 1 else JoinedSource(parts, str(path))


def npy_parts(path: Path, *, schema: Schema | None = None) -> list[NpySource]:
    """Open a .npy file, or all in a folder."""
    return [NpySource(file, schema=schema) for file in _files(path)]


def open_tables(
    path: Path, *, columns: Sequence[str] | None = None, schema: Schema | None = None, raw: bool = False
) -> list[TableSource]:
    """Open a table file, or all in a folder.

    Parameters
    ----------
    path : Path
        The file or folder.
    columns : sequence of str, optional
        The columns to read.
    schema : Schema, optional
        How the columns become numbers.
    raw : bool, default=False
        Whether columns that are not numeric are let through without a schema.

    Returns
    -------
    list of TableSource
        The files, with the same columns in the same order.
    """
    parts: list[TableSource] = []
    with ExitStack() as opened:
        for file in _files(path):
            part = _open_table(file, columns, schema)
            opened.callback(part.close)
            if parts and part.names != parts[0].names:
                _check_same_columns(parts[0], part)
                part = _open_table(file, parts[0].names, schema)
                opened.callback(part.close)
            if schema is None and not raw:
                check_numeric(part.fields, part.names, part.label)
            parts.append(part)
        opened.pop_all()  # nothing went wrong: closing them is now the caller's business
    return parts


def _open_table(path: Path, columns: Sequence[str] | None, schema: Schema | None) -> TableSource:
    kind = _kind(path)
    if kind == "parquet":
        return ParquetSource(path, columns=columns, schema=schema)
    if kind == "arrow":
        return IpcSource(path, columns=columns, schema=schema)
    return open_csv(path, _DELIMITERS[kind], columns=columns, schema=schema)


def _check_same_columns(first: TableSource, other: TableSource) -> None:
    differing = sorted(set(first.names) ^ set(other.names))
    if differing:
        raise SchemaError(
            f"{first.label} and {other.label} don't have the same columns: {', '.join(map(repr, differing[:5]))} "
            "in one only. Choose common ones by columns=[...]."
        )


def is_table(path: Path) -> bool:
    """Tell whether a file, or the first in a folder, is a table with named columns."""
    return _kind(_files(path)[0]) not in {"npy", "npz"}


def _kind(path: Path) -> str:
    name = path.name.lower()
    for ending in sorted(_KINDS, key=len, reverse=True):
        if name.endswith(ending):
            return _KINDS[ending]
    raise FileError(f"{path} can't be read, because the end of its name is not one of {', '.join(_KINDS)}.")


def _files(path: Path) -> list[Path]:
    """List the files that a path stands for, all of one kind."""
    if not path.exists():
        raise _missing(path)
    if not path.is_dir():
        return [path]
    files = sorted(entry for entry in path.iterdir() if not entry.name.startswith((".", "_")))
    if not files:
        raise FileError(f"The folder {path} holds no files; hidden ones and names that begin with _ are ignored.")
    for file in files:
        if file.is_dir():
            raise FileError(f"The folder {path} holds a folder, {file.name}, and folders in folders are not read.")
        if _kind(file) != _kind(files[0]):
            raise FileError(
                f"The folder {path} holds files of several kinds, such as {files[0].name} and {file.name}; "
                "move those that don't belong to the data elsewhere."
            )
    return files


def _missing(path: Path) -> FileError:
    try:
        near = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return FileError(f"{path} does not exist, and neither does its folder.")
    return FileError(f"{path} does not exist.{did_you_mean(path.name, near)}")
