"""A table as its columns, whatever kind of table it is, and the distinct values of a column."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from stickbreak.data.arrow import sort_of
from stickbreak.data.base import pick_columns
from stickbreak.data.convert import check_2d
from stickbreak.data.frames import frame_kind, frame_names, select_columns, to_arrow
from stickbreak.data.recognise import as_array
from stickbreak.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stickbreak.core.arrays import Ints

_SORTS = {"b": "bool", "i": "int", "u": "int", "f": "float", "U": "text", "T": "text"}


@dataclass(frozen=True, slots=True)
class Columns:
    """A table's columns.

    Attributes
    ----------
    names : tuple of str or None
        Their names.
    n_rows : int
        How many rows they have.
    columns : tuple
        Each a 1-D array or an Arrow array.
    """

    names: tuple[str, ...] | None
    n_rows: int
    columns: tuple[Any, ...]


def split_columns(table: Any, columns: Sequence[str] | None = None) -> Columns:
    """Take a table in memory apart.

    Parameters
    ----------
    table : array-like or frame
        The table.
    columns : sequence of str, optional
        The columns to keep.

    Returns
    -------
    Columns
        Its columns.

    Examples
    --------
    >>> split_columns([[1, "a"], [2, "b"]]).columns[1].tolist()
    ['a', 'b']
    """
    if sparse.issparse(table):
        raise InputError(
            "Sparse data have numeric columns only, so that they need no schema; give an array or a frame."
        )
    if frame_kind(table) is None:
        pick_columns(None, columns, "an array")
        X = as_array(table, objects=True)
        check_2d(X.shape)
        return Columns(None, X.shape[0], tuple(X.T))
    table = to_arrow(table) if frame_kind(table) == "stream" else table
    picked = pick_columns(frame_names(table), columns, "the frame")
    table = table if picked is None else select_columns(table, picked)
    arrow = to_arrow(table)
    return Columns(frame_names(table), arrow.num_rows, tuple(arrow.columns))


def plain(value: Any) -> Any:
    """Make a cell a plain Python value: None if it is missing.

    Parameters
    ----------
    value : object
        The cell.

    Returns
    -------
    object
        The value; a NumPy scalar or Decimal as a Python number.

    Examples
    --------
    >>> plain(np.int8(3)), plain(float("nan"))
    (3, None)
    """
    if isinstance(value, np.generic):
        value = value.item()
    elif isinstance(value, Decimal):
        value = float(value)
    # pandas need not be installed for its markers of missing values to be known.
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return None
    return None if isinstance(value, float) and np.isnan(value) else value


def column_sorts(column: Any) -> set[str]:
    """Tell what a column holds: any of "bool", "int", "float" and "text", or else the name of an unusable type."""
    if not isinstance(column, np.ndarray):
        sort = sort_of(column.type)
        return {str(column.type) if sort == "other" else sort} - {"empty"}
    if column.dtype != object:
        return {_SORTS.get(column.dtype.kind, str(column.dtype))}
    types = {bool: "bool", int: "int", float: "float", str: "text", type(None): "empty"}
    found = {type(value) for value in map(plain, column)}
    return {types.get(kind, kind.__name__) for kind in found} - {"empty"}


def distinct(column: Any) -> tuple[list[Any], Ints]:
    """Find a column's distinct values.

    Parameters
    ----------
    column : ndarray or Arrow array
        The column.

    Returns
    -------
    values : list
        Plain Python values, None for missing cells. Some may not occur.
    places : ndarray of int64
        For each row the place of its value in `values`.

    Examples
    --------
    >>> values, places = distinct(np.array(["b", None, "b"], dtype=object))
    >>> values, places.tolist()
    (['b', None], [0, 1, 0])
    """
    if not isinstance(column, np.ndarray):
        return _distinct_arrow(column)
    if column.dtype == object:
        index: dict[Any, int] = {}
        places = [index.setdefault(plain(value), len(index)) for value in column]
        return list(index), np.array(places, dtype=np.int64)
    values, inverse = np.unique(column, return_inverse=True)
    return [plain(value) for value in values], inverse.astype(np.int64)


def _distinct_arrow(column: Any) -> tuple[list[Any], Ints]:
    index: dict[Any, int] = {None: 0}
    parts: list[npt.NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
    for chunk in getattr(column, "chunks", [column]):
        coded = chunk if hasattr(chunk, "dictionary") else chunk.dictionary_encode()
        places = [index.setdefault(plain(value), len(index)) for value in coded.dictionary.to_pylist()]
        # Nulls are given the place after the last value, which stands for None.
        at = coded.indices.cast("int64").fill_null(len(places)).to_numpy(zero_copy_only=False)
        parts.append(np.array([*places, 0], dtype=np.int64)[at])
    return list(index), np.concatenate(parts)
