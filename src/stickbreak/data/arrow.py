"""Arrow tables and columns as floats. pyarrow itself is optional, and imported only here and where files are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stickbreak.data.base import column_label
from stickbreak.errors import DataError, FileError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stickbreak.core.arrays import Dense


def need_pyarrow(purpose: str) -> Any:
    """Import pyarrow.

    Parameters
    ----------
    purpose : str
        What it is needed for, as the beginning of a sentence.

    Returns
    -------
    module
        pyarrow.

    Raises
    ------
    FileError
        If it is not installed.
    """
    try:
        import pyarrow as pa
    except ImportError as error:
        raise FileError(f'{purpose} needs pyarrow: pip install "stickbreak[files]".') from error
    return pa


def sort_of(kind: Any) -> str:
    """Sort an Arrow type by what can be done with it.

    Parameters
    ----------
    kind : pyarrow.DataType
        A column's type.

    Returns
    -------
    str
        "bool", "int", "float", "text" (categories too), "empty" (nothing but missing values), or "other".
    """
    types = need_pyarrow("Reading tables").types
    tests = {
        "bool": types.is_boolean,
        "int": types.is_integer,
        "float": lambda t: types.is_floating(t) or types.is_decimal(t),
        "text": lambda t: any(test(t) for test in _text_tests(types)),
        "empty": types.is_null,
    }
    return next((name for name, test in tests.items() if test(kind)), "other")


def _text_tests(types: Any) -> list[Any]:
    view = getattr(types, "is_string_view", None)  # since pyarrow 16
    return [types.is_string, types.is_large_string, types.is_dictionary, *([view] if view else [])]


def check_numeric(fields: Any, names: Sequence[str], where: str) -> None:
    """Refuse columns that are not numbers, when no schema tells how to encode them.

    Parameters
    ----------
    fields : pyarrow.Schema
        The table's types.
    names : sequence of str
        The columns that will be read.
    where : str
        What to call the table.
    """
    for j, name in enumerate(names):
        kind = fields.field(name).type
        if sort_of(kind) in {"text", "other"}:
            raise not_numeric(column_label(names, j), kind, where)


def not_numeric(label: str, kind: object, where: str) -> DataError:
    """Make the error for a column that is not numeric."""
    return DataError(
        f"In {where}, {label} holds {kind}, not numbers; choose the numeric columns by columns=[...], "
        "or use family='mixed' for text and categories."
    )


def column_floats(column: Any) -> Dense:
    """Convert an Arrow column of numbers or booleans to floats.

    Parameters
    ----------
    column : pyarrow.Array or pyarrow.ChunkedArray
        The column; nulls become NaN.

    Returns
    -------
    ndarray
        float32 for a float32 column, else float64.
    """
    pa = need_pyarrow("Reading tables")
    single = column.type == pa.float32()
    # Integers beyond 2**53 are rounded, as everywhere in NumPy, where a safe cast would refuse them.
    column = column if single else column.cast(pa.float64(), safe=False)
    floats: Dense = column.to_numpy() if isinstance(column, pa.ChunkedArray) else column.to_numpy(zero_copy_only=False)
    return floats


def table_floats(table: Any) -> Dense:
    """Convert an Arrow table or record batch of numeric columns to rows.

    Parameters
    ----------
    table : pyarrow.Table or pyarrow.RecordBatch
        The table.

    Returns
    -------
    ndarray, shape (n_rows, n_columns)
        The rows: float32 if all columns are, else float64.
    """
    columns = table.columns
    rows = np.empty((table.num_rows, len(columns)), dtype=table_dtype(table.schema.types))
    for j, column in enumerate(columns):
        rows[:, j] = column_floats(column)
    return rows


def table_dtype(types: Sequence[Any]) -> np.dtype[np.floating[Any]]:
    """Choose float32 if all of some Arrow types are float32, else float64."""
    single = need_pyarrow("Reading tables").float32()
    return np.dtype(np.float32 if all(kind == single for kind in types) else np.float64)
