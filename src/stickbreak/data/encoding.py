"""Encoding a table: how its columns become numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from stickbreak.data.arrow import column_floats
from stickbreak.data.base import column_label
from stickbreak.data.columns import column_sorts, distinct, plain, split_columns
from stickbreak.errors import SchemaError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stickbreak.core.arrays import Floats

Category: TypeAlias = str | int | float | bool

KINDS = ("real", "count", "flag", "category")
"""What a column can be."""


@dataclass(frozen=True)
class Schema:
    """How the columns of a table become numbers.

    Attributes
    ----------
    names : tuple of str or None
        The columns' names; None if columns are told apart by position alone.
    kinds : tuple of str
        For each column "real", "count", "flag" or "category".
    categories : tuple
        For each column of categories its values in ascending order, else None.

    Examples
    --------
    >>> schema = Schema(("size", "colour"), ("real", "category"), (None, ("blue", "red")))
    >>> schema.encode([[1.5, "red"], [2.5, None]])
    array([[1.5, 1. ],
           [2.5, nan]])
    """

    names: tuple[str, ...] | None
    kinds: tuple[str, ...]
    categories: tuple[tuple[Category, ...] | None, ...]

    def encode(self, table: Any, *, where: slice | None = None) -> Floats:
        """Turn a table into numbers.

        Parameters
        ----------
        table : array-like or frame
            The table. Columns with names may come in any order.
        where : slice, optional
            Numbers of the table's rows in the whole data, for messages.

        Returns
        -------
        ndarray of float64, shape (n_rows, n_columns)
            Categories as their codes 0, 1, ..., flags as 0 and 1, missing cells as NaN.

        Raises
        ------
        SchemaError
            If columns are missing or too many, a category is new, or text stands where numbers did.
        """
        given = split_columns(table)
        order = self.match(given.names, len(given.columns))
        rows = np.empty((given.n_rows, len(order)))
        for j, at in enumerate(order):
            label = column_label(self.names, j)
            known = self.categories[j]
            if known is None:
                rows[:, j] = _numbers(given.columns[at], label, where)
            else:
                rows[:, j] = _codes(given.columns[at], known, label, where)
        return rows

    def match(self, names: Sequence[str] | None, n_columns: int) -> tuple[int, ...]:
        """Find the schema's columns among those of a table.

        Parameters
        ----------
        names : sequence of str or None
            The table's column names, if it has any.
        n_columns : int
            How many columns it has.

        Returns
        -------
        tuple of int
            For each column of the schema its position in the table.
        """
        if self.names is None or names is None:
            if n_columns != len(self.kinds):
                raise SchemaError(f"The data have {n_columns} columns, and the model was fitted on {len(self.kinds)}.")
            return tuple(range(n_columns))
        extra = [name for name in names if name not in self.names]
        for name in self.names:
            if name not in names:
                raise SchemaError(f"The data have no column {name!r}.{did_you_mean(name, extra)}")
        if extra:
            raise SchemaError(
                f"The data have columns that the model was not fitted on: {', '.join(map(repr, extra))}. "
                "Leave them out, or choose the others by columns=[...]."
            )
        return tuple(list(names).index(name) for name in self.names)

    def text_columns(self, names: Sequence[str]) -> dict[str, str]:
        """Tell which columns of a text file hold text, even if all of it looks like numbers.

        Parameters
        ----------
        names : sequence of str
            The file's columns that are read.

        Returns
        -------
        dict of str to str
            "string" for each such column.
        """
        own = names if self.names is None else self.names
        known = zip(own, self.categories, strict=False)
        return {name: "string" for name, values in known if values and isinstance(values[0], str) and name in names}

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as lists and plain values, ready for JSON."""
        return {
            "names": None if self.names is None else list(self.names),
            "kinds": list(self.kinds),
            "categories": [None if values is None else list(values) for values in self.categories],
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Schema:
        """Make a schema of what `to_dict` returned.

        Examples
        --------
        >>> schema = Schema(None, ("flag",), (None,))
        >>> Schema.from_dict(schema.to_dict()) == schema
        True
        """
        names = fields["names"]
        return cls(
            names=None if names is None else tuple(names),
            kinds=tuple(fields["kinds"]),
            categories=tuple(None if values is None else tuple(values) for values in fields["categories"]),
        )


def _codes(column: Any, known: tuple[Category, ...], label: str, where: slice | None) -> Floats:
    values, places = distinct(column)
    code_of: dict[Any, float] = {value: float(code) for code, value in enumerate(known)}
    code_of[None] = np.nan
    codes = np.array([code_of.get(value, -1.0) for value in values])[places]
    unseen = np.flatnonzero(codes == -1.0)
    if len(unseen):
        row = int(unseen[0])
        raise SchemaError(
            f"Row {_row(row, where)}, {label} holds {values[places[row]]!r}, which is not among the "
            f"{len(known)} categories of the fit; replace it by a missing value to leave the cell out."
        )
    return codes


def _numbers(column: Any, label: str, where: slice | None) -> Floats:
    unusable = column_sorts(column) - {"bool", "int", "float"}
    if not unusable:
        if not isinstance(column, np.ndarray):
            return column_floats(column).astype(np.float64, copy=False)
        if column.dtype != object:
            return column.astype(np.float64)
        return np.array([np.nan if (number := plain(value)) is None else number for value in column], dtype=np.float64)
    place = ""
    if isinstance(column, np.ndarray) and column.dtype == object:
        numeric = (bool, int, float, type(None))
        row = next(i for i, value in enumerate(column) if not isinstance(plain(value), numeric))
        place = f"Row {_row(row, where)}, "
    raise SchemaError(f"{place}{label} holds {' and '.join(sorted(unusable))}, where the fit had numbers.")


def _row(row: int, where: slice | None) -> int:
    return row if where is None else where.start + row * where.step
