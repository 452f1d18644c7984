"""One function for every kind of data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from stickbreak.data.base import Source, pick_columns
from stickbreak.data.blocks import BlockListSource, IterableSource
from stickbreak.data.files import open_path
from stickbreak.data.frames import frame_floats, frame_kind, frame_names, select_columns, to_arrow
from stickbreak.data.mapped import MappedSource, memory_map_of
from stickbreak.data.recognise import as_array, recognise
from stickbreak.data.resident import ArraySource, SparseSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stickbreak.data.encoding import Schema


def open_source(data: Any, *, columns: Sequence[str] | None = None, schema: Schema | None = None) -> Source:
    """Open data of any kind as a source of rows.

    Parameters
    ----------
    data : array-like, sparse matrix, frame, path, or blocks of these
        - a 2-D array, in memory or memory-mapped;
        - a SciPy sparse matrix or array;
        - a pandas or polars frame, or an Arrow table;
        - the path of a .npy, .npz, .parquet, .pq, .arrow, .feather, .ipc, .csv or .tsv file, or of a folder of
          files of one such kind (Arrow, Parquet and text files need pyarrow);
        - a list of such data, or an object that gives them anew each time it is iterated over.
    columns : sequence of str, optional
        The columns to use, in this order, for data that have named ones. All by default.
    schema : Schema, optional
        How the columns become numbers. Without it they must be numeric.

    Returns
    -------
    Source
        The rows, to be closed after use.

    Raises
    ------
    InputError
        If the data are of no known kind, have no rows or no columns, or are not numeric.
    FileError
        If a file can't be read.

    Examples
    --------
    >>> import numpy as np
    >>> with open_source(np.arange(20.0).reshape(10, 2)) as source:
    ...     blocks = source.partition(3)
    ...     [piece.rows[:, 0].tolist() for b in range(3) for piece in blocks.pieces(b)]
    [[0.0, 6.0, 12.0, 18.0], [2.0, 8.0, 14.0], [4.0, 10.0, 16.0]]
    """
    source = _open(data, columns, schema)
    source.schema = schema
    return source


def _open(data: Any, columns: Sequence[str] | None, schema: Schema | None) -> Source:
    kind = recognise(data)
    if kind == "path":
        return open_path(Path(data), columns=columns, schema=schema)
    if kind == "frame":
        return _open_frame(data, columns, schema)
    if kind == "list":
        return BlockListSource(data, lambda block: open_source(block, columns=columns, schema=schema))
    if kind == "iterable":
        return IterableSource(data, lambda block: open_source(block, columns=columns, schema=schema))
    pick_columns(None, columns, "an array")
    if kind == "sparse":
        return SparseSource(data, schema=schema)
    X = as_array(data, objects=schema is not None)
    mapped = memory_map_of(X)
    return ArraySource(X, schema=schema) if mapped is None else MappedSource(X, mapped, schema=schema)


def _open_frame(frame: Any, columns: Sequence[str] | None, schema: Schema | None) -> Source:
    if frame_kind(frame) == "stream":
        frame = to_arrow(frame)
    names = frame_names(frame)
    picked = pick_columns(names, columns, "the frame")
    if picked is not None:
        frame = select_columns(frame, picked)
        names = frame_names(frame)
    if schema is None:
        return ArraySource(frame_floats(frame), names=names)
    return ArraySource(schema.encode(frame), names=schema.names)
