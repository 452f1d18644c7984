"""Finding out what the columns of a table are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stickbreak.data.base import check_shape, column_label
from stickbreak.data.columns import Columns, column_sorts, distinct, plain, split_columns
from stickbreak.data.encoding import KINDS, Category, Schema
from stickbreak.data.files import is_table, npy_parts, open_tables
from stickbreak.data.recognise import recognise
from stickbreak.errors import DataError, OptionError, SchemaError, did_you_mean, unknown_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Schema", "infer_schema"]

_MOST_CATEGORIES = 1000


def infer_schema(
    data: Any, kinds: Mapping[str | int, str] | None = None, columns: Sequence[str] | None = None
) -> Schema:
    """Find out what each column is.

    Text, categorical and dictionary columns are categories, and their values are those that occur. Booleans are
    flags, as are integers that are all 0 or 1. Other integers that are not negative are counts. Everything else,
    floats and negative integers, is real. Only the type of floats matters, not their values: whole numbers in a
    float column are real.

    Parameters
    ----------
    data : array-like, frame, path, or blocks of these
        The data; files and blocks are read once.
    kinds : mapping, optional
        Kinds that replace the inferred ones: "real", "count", "flag" or "category", by a column's name or number.
        A column of numbers that is made a category has its distinct values as categories.
    columns : sequence of str, optional
        The columns to use, in this order. All by default.

    Returns
    -------
    Schema
        The kinds, and the categories.

    Raises
    ------
    DataError
        For dates, lists and other values that are neither numbers nor categories, for a column that mixes numbers
        and text, and for one of more than 1000 categories.

    Examples
    --------
    >>> schema = infer_schema([[1.5, "red", 1], [2.5, "blue", 0]], kinds={0: "real"})
    >>> schema.kinds, schema.categories[1]
    (('real', 'category', 'flag'), ('blue', 'red'))
    """
    tallies: list[_Tally] = []
    names: tuple[str, ...] | None = None
    n_rows = 0
    for table in _tables(data, columns):
        if not tallies:
            names = table.names
            forced = _resolve(kinds or {}, names, len(table.columns))
            tallies = [_Tally(column_label(names, j), forced.get(j)) for j in range(len(table.columns))]
        if table.names != names or len(table.columns) != len(tallies):
            raise SchemaError(f"A block has {len(table.columns)} columns {table.names or ''}, not those of the first.")
        n_rows += table.n_rows
        for tally, column in zip(tallies, table.columns, strict=True):
            tally.add(column)
    check_shape(n_rows, len(tallies))
    found = [tally.finish() for tally in tallies]
    return Schema(names, tuple(kind for kind, _ in found), tuple(categories for _, categories in found))


def _tables(data: Any, columns: Sequence[str] | None) -> Iterator[Columns]:
    """Read data of any kind as tables in memory, as they are stored."""
    kind = recognise(data)
    if kind in {"list", "iterable"}:
        for block in data:
            yield from _tables(block, columns)
    elif kind != "path":
        yield split_columns(data, columns)
    elif is_table(Path(data)):
        yield from _file_tables(Path(data), columns)
    else:
        for part in npy_parts(Path(data)):
            for rows in part.read_stored(0, part.n_rows):
                yield split_columns(rows, columns)


def _file_tables(path: Path, columns: Sequence[str] | None) -> Iterator[Columns]:
    parts = open_tables(path, columns=columns, raw=True)
    try:
        for part in parts:
            for batch in part.batches(0, part.n_rows):
                yield split_columns(batch)
    finally:
        for part in parts:
            part.close()


def _resolve(kinds: Mapping[str | int, str], names: tuple[str, ...] | None, n_columns: int) -> dict[int, str]:
    """Make kinds given by name or number kinds by number."""
    resolved: dict[int, str] = {}
    for key, kind in kinds.items():
        if kind not in KINDS:
            raise unknown_option(f"kinds[{key!r}]", kind, KINDS)
        if isinstance(key, str):
            if key not in (names or ()):
                raise OptionError(f"kinds: there is no column {key!r} in the data.{did_you_mean(key, names or ())}")
            resolved[(names or ()).index(key)] = kind
        elif 0 <= key < n_columns:
            resolved[int(key)] = kind
        else:
            raise OptionError(f"kinds: there is no column {key}; the {n_columns} columns are counted from 0.")
    return resolved


class _Tally:
    """What is known of a column from the tables read so far."""

    def __init__(self, label: str, forced: str | None) -> None:
        self._label = label
        self._forced = forced
        self._sorts: set[str] = set()
        self._low, self._high = 0, 0
        self._values: set[Category] = set()

    def add(self, column: Any) -> None:
        sorts = column_sorts(column)
        self._sorts |= sorts
        self._check()
        if "text" in sorts or self._forced == "category":
            self._collect(column)
        elif self._forced is None and sorts and sorts <= {"int", "bool"}:
            low, high = _range(column)
            self._low, self._high = min(self._low, low), max(self._high, high)

    def _check(self) -> None:
        unusable = self._sorts - {"bool", "int", "float", "text"}
        if unusable:
            raise DataError(
                f"{self._label} holds {' and '.join(sorted(unusable))}, which is neither numbers nor categories; "
                "leave it out by columns=[...], or make numbers of it first.",
                column=self._label,
            )
        if "text" in self._sorts and len(self._sorts) > 1:
            raise DataError(f"{self._label} mixes {' and '.join(sorted(self._sorts))}; make all of one type.")
        if "text" in self._sorts and self._forced not in {None, "category"}:
            raise DataError(f"{self._label} holds text, so that it can't be made {self._forced!r} by kinds=.")

    def _collect(self, column: Any) -> None:
        values, places = distinct(column)
        occurring = np.zeros(len(values), dtype=bool)
        occurring[places] = True
        self._values.update(v for v, occurs in zip(values, occurring.tolist(), strict=True) if occurs and v is not None)
        if len(self._values) > _MOST_CATEGORIES:
            raise DataError(
                f"{self._label} has more than {_MOST_CATEGORIES} different values, too many for categories; "
                "leave it out by columns=[...]."
            )

    def finish(self) -> tuple[str, tuple[Category, ...] | None]:
        if "text" in self._sorts or self._forced == "category":
            return "category", self._categories()
        if self._forced is not None:
            return self._forced, None
        if not self._sorts or "float" in self._sorts or self._low < 0:
            return "real", None
        return ("flag" if self._high <= 1 else "count"), None

    def _categories(self) -> tuple[Category, ...]:
        if not self._values:
            raise DataError(f"{self._label} holds nothing but missing values; leave it out by columns=[...].")
        return tuple(sorted(self._values, key=lambda value: (isinstance(value, str), value)))


def _range(column: Any) -> tuple[int, int]:
    """Return the least and greatest of a column of whole numbers or booleans."""
    if not isinstance(column, np.ndarray):
        import pyarrow.compute

        ends = pyarrow.compute.min_max(column).as_py()
        return int(ends["min"] or 0), int(ends["max"] or 0)
    if column.dtype != object:
        return (int(column.min()), int(column.max())) if len(column) else (0, 0)
    values = [int(value) for value in map(plain, column) if value is not None]
    return min(values, default=0), max(values, default=0)
