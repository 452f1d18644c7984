"""Frames in memory: pandas, polars and Arrow tables."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stickbreak.data.arrow import check_numeric, need_pyarrow, not_numeric, table_floats
from stickbreak.data.base import check_names, check_shape, column_label
from stickbreak.errors import DataError, InputError

if TYPE_CHECKING:
    from stickbreak.core.arrays import Dense

_FRAMES = {
    ("pandas", "DataFrame"): "pandas",
    ("polars", "DataFrame"): "polars",
    ("pyarrow", "Table"): "arrow",
    ("pyarrow", "RecordBatch"): "arrow",
}


def frame_kind(data: object) -> str | None:
    """Tell what library a frame is of, without importing any.

    Parameters
    ----------
    data : object
        Anything.

    Returns
    -------
    str or None
        "pandas", "polars", "arrow", or "stream" for another object that hands on Arrow data; None if it is no frame.

    Examples
    --------
    >>> frame_kind([[1.0, 2.0]]) is None
    True
    """
    for base in type(data).__mro__:
        kind = _FRAMES.get((base.__module__.partition(".")[0], base.__name__))
        if kind is not None:
            return kind
        if (base.__module__.partition(".")[0], base.__name__) == ("polars", "LazyFrame"):
            raise InputError("A polars LazyFrame holds no rows yet; give frame.collect(), or write it to Parquet.")
        if base.__module__.partition(".")[0] in {"pandas", "polars"} and base.__name__ == "Series":
            raise InputError(
                f"Expected 2D array, got 1D array instead: a {base.__module__.partition('.')[0]} Series. "
                "Give a frame, such as series.to_frame()."
            )
    is_column = hasattr(data, "__arrow_c_array__") or hasattr(data, "__array__")
    return "stream" if hasattr(data, "__arrow_c_stream__") and not is_column else None


def frame_names(frame: Any) -> tuple[str, ...] | None:
    """Return a frame's column names; None unless all are strings.

    Parameters
    ----------
    frame : frame
        A pandas or polars frame or an Arrow table.

    Returns
    -------
    tuple of str or None
        The names.
    """
    labels = frame.column_names if frame_kind(frame) == "arrow" else list(frame.columns)
    return check_names(labels, "the frame")


def select_columns(frame: Any, positions: list[int]) -> Any:
    """Choose columns of a frame by position."""
    if frame_kind(frame) == "arrow":
        return frame.select(positions)
    return frame.iloc[:, positions] if frame_kind(frame) == "pandas" else frame[:, positions]


def to_arrow(frame: Any) -> Any:
    """Convert a frame to an Arrow table.

    Parameters
    ----------
    frame : frame
        A pandas or polars frame, an Arrow table, or another object with `__arrow_c_stream__`.

    Returns
    -------
    pyarrow.Table or pyarrow.RecordBatch
        The table.
    """
    kind = frame_kind(frame)
    if kind == "arrow":
        return frame
    pa = need_pyarrow("Reading frames with text or categories")
    if kind == "polars":
        return frame.to_arrow()
    if kind == "stream":
        return pa.table(frame)
    try:
        # Without an index column: the index is no part of the data.
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(
            f"The frame can't be read: {'; '.join(map(str, error.args))}. Give each column one type."
        ) from error


def frame_floats(frame: Any) -> Dense:
    """Convert a numeric frame to rows, missing values to NaN and booleans to 0 and 1.

    Parameters
    ----------
    frame : frame
        A pandas or polars frame or an Arrow table.

    Returns
    -------
    ndarray
        float32 if all columns are, else float64.
    """
    kind = frame_kind(frame)
    if kind == "arrow":
        check_numeric(frame.schema, frame.column_names, "the frame")
        return table_floats(frame)
    n_rows, n_columns = frame.shape
    check_shape(n_rows, n_columns)
    # These two need no pyarrow: numeric frames are common where it is not installed.
    read = _pandas_column if kind == "pandas" else _polars_column
    names = frame_names(frame)
    dtypes = list(frame.dtypes)
    rows = np.empty((n_rows, n_columns), dtype=np.float32 if _all_single(dtypes) else np.float64)
    for j in range(n_columns):
        rows[:, j] = read(frame, j, column_label(names, j))
    return rows


def _all_single(dtypes: list[Any]) -> bool:
    return all(str(dtype).lower() == "float32" for dtype in dtypes)


def _pandas_column(frame: Any, j: int, label: str) -> npt.NDArray[Any]:
    types = sys.modules["pandas"].api.types
    column = frame.iloc[:, j]
    if types.is_complex_dtype(column.dtype):
        raise InputError(f"Complex data not supported; {label} is complex.")
    if not types.is_numeric_dtype(column.dtype):
        raise not_numeric(label, column.dtype, "the frame")
    if isinstance(column.dtype, np.dtype):
        return np.asarray(column)
    floats: npt.NDArray[Any] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return floats


def _polars_column(frame: Any, j: int, label: str) -> npt.NDArray[Any]:
    pl = sys.modules["polars"]
    column = frame[:, j]
    if not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
        raise not_numeric(label, column.dtype, "the frame")
    floats: npt.NDArray[Any] = column.cast(pl.Float64).to_numpy()
    return floats
