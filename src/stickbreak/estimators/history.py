"""What happened in a fit, a record a lap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, overload


@dataclass(frozen=True, slots=True)
class Lap:
    """One pass over the data.

    Parameters
    ----------
    lap : int
        Number of the lap, counted from 1.
    n_components : int
        Clusters after it.
    elbo : float or None
        Bound of the whole data in nats; None where it wasn't evaluated.
    seconds : float
        Time since the fit began.
    births_tried, births_kept : int
        Births that were worked out and those whose clusters stayed.
    merges_tried, merges_kept : int
        Merges whose change of the bound was computed and those made, clusters dissolved for good included.

    Examples
    --------
    >>> Lap(lap=1, n_components=5, elbo=-120.5, seconds=0.1).elbo
    -120.5
    """

    lap: int
    n_components: int
    elbo: float | None
    seconds: float
    births_tried: int = 0
    births_kept: int = 0
    merges_tried: int = 0
    merges_kept: int = 0


class History(Sequence[Lap]):
    """The laps of a fit, in order.

    Parameters
    ----------
    laps : iterable of Lap
        The records.

    Examples
    --------
    >>> history = History([Lap(1, 5, -120.5, 0.1), Lap(2, 5, -118.0, 0.2)])
    >>> history[-1].elbo
    -118.0
    >>> history.to_dict()["lap"]
    [1, 2]
    """

    def __init__(self, laps: Iterable[Lap] = ()):
        self._laps = list(laps)

    @overload
    def __getitem__(self, index: int) -> Lap: ...
    @overload
    def __getitem__(self, index: slice) -> History: ...
    def __getitem__(self, index: int | slice) -> Lap | History:
        return History(self._laps[index]) if isinstance(index, slice) else self._laps[index]

    def __len__(self) -> int:
        return len(self._laps)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, History) and self._laps == other._laps

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"History({self._laps!r})"

    def append(self, lap: Lap) -> None:
        """Add a record."""
        self._laps.append(lap)

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns by name."""
        return {name: [getattr(lap, name) for lap in self] for name in Lap.__dataclass_fields__}

    def to_records(self) -> list[dict[str, Any]]:
        """Records as dictionaries."""
        return [asdict(lap) for lap in self]

    def to_frame(self) -> Any:
        """Make a pandas data frame with a row a lap."""
        import pandas as pd

        return pd.DataFrame(self.to_dict())
