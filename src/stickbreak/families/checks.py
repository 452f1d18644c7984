"""What a family asks of data, said the same way by all."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from stickbreak.core.arrays import Floats
from stickbreak.errors import DataError, OptionError, SchemaError

if TYPE_CHECKING:
    from stickbreak.data.profile import Profile

T = TypeVar("T")


def known(value: T | None, name: str) -> T:
    """Return a hyperparameter that `bind` must have filled in."""
    if value is None:
        raise OptionError(f"{name} is not known yet: bind the family to data first, or give it.")
    return value


def refuse_missing(profile: Profile, family: str, instead: str) -> None:
    """Raise an error at the first missing cell."""
    holes = profile.present < profile.weight * (1 - 1e-9)
    if profile.missing_at is None and not np.any(holes):
        return
    row, column = profile.missing_at or (None, int(np.flatnonzero(holes)[0]))
    where = profile.label(column) if row is None else f"row {row}, {profile.label(column)}"
    raise DataError(
        f"Input X contains NaN: {where} is missing. {family} can't leave single cells out. "
        f"{instead}, or fill in or drop the rows.",
        row=row,
        column=column,
    )


def require_counts(profile: Profile, family: str) -> None:
    """Raise an error at the first negative or fractional cell."""
    if profile.negative_at is not None:
        row, column = profile.negative_at
        raise DataError(
            f"Negative values in data passed to {family}, which takes counts: row {row}, {profile.label(column)}.",
            row=row,
            column=column,
        )
    if profile.fractional_at is not None:
        row, column = profile.fractional_at
        raise DataError(
            f"{family} takes whole counts, but row {row}, {profile.label(column)} has a fraction. "
            'Round the data, or use family="gaussian" for measurements.',
            row=row,
            column=column,
        )


def per_column(value: Floats | float, n: int, name: str, *, positive: bool = True) -> Floats:
    """Spread a hyperparameter given as a number or one number a column."""
    out = np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), (n,))) if _fits(value, n) else None
    if out is None:
        raise OptionError(f"{name} has shape {np.shape(value)}, but the data have {n} columns.")
    if not np.all(np.isfinite(out)) or (positive and np.any(out <= 0)):
        raise OptionError(f"{name} must be {'positive' if positive else 'finite'}, but it is {value!r}.")
    return out


def _fits(value: Floats | float, n: int) -> bool:
    return np.shape(value) in ((), (1,), (n,))


def require_width(found: int, expected: int) -> None:
    """Raise an error if rows have another width than the family was bound to."""
    if found != expected:
        raise SchemaError(f"X has {found} columns, but the family is bound to {expected}.")


def scale_of(variance: Floats) -> Floats:
    """Each column's variance, and 1 for columns that never vary: there, no assignment depends on it."""
    return np.where(variance > 0, variance, 1.0)
