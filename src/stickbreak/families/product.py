"""A product of families over columns: ``t = (t_1, t_2, ...)``, ``a = a_1 + a_2 + ...``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from stickbreak.core.arrays import Dense, Floats, Rows
from stickbreak.core.family import Family
from stickbreak.errors import OptionError, unknown_option
from stickbreak.families.diagonal import DiagonalGaussian
from stickbreak.families.discrete import Bernoulli, Categorical, Poisson

if TYPE_CHECKING:
    from stickbreak.data.profile import Profile
    from stickbreak.data.schema import Schema

Part = tuple[tuple[int, ...], Family]


@dataclass(frozen=True, eq=False)
class Product(Family):
    """Families side by side, each over columns of its own, independent within a cluster.

    Parameters
    ----------
    parts : sequence of (columns, family)
        Column numbers and the family that models them; every column once.

    Examples
    --------
    >>> from stickbreak.families import Gaussian, Poisson
    >>> Product([((0, 1), Gaussian()), ((2,), Poisson())]).name
    'product'
    """

    name: ClassVar[str] = "product"
    allows_missing: ClassVar[bool] = True
    parts: Sequence[Part] = field(default=())

    def __post_init__(self) -> None:
        parts = tuple((tuple(int(c) for c in columns), family) for columns, family in self.parts)
        columns = sorted(c for part, _ in parts for c in part)
        if not columns or columns != list(range(len(columns))):
            raise OptionError(f"parts must cover the columns 0, 1, 2, ... once each, but they cover {columns}.")
        object.__setattr__(self, "parts", parts)

    def _each(self, profile: Profile) -> list[Profile]:
        if len(profile.mean) != self.n_columns:
            raise OptionError(f"parts cover {self.n_columns} columns, but the data have {len(profile.mean)}.")
        return [_narrowed(profile, columns) for columns, _ in self.parts]

    def check(self, profile: Profile) -> None:
        """Let each part check its columns."""
        for (_, family), part in zip(self.parts, self._each(profile), strict=True):
            family.check(part)

    def bind(self, profile: Profile) -> Self:
        """Let each part fill in what was left to its columns."""
        bound = [(c, f.bind(part)) for (c, f), part in zip(self.parts, self._each(profile), strict=True)]
        return replace(self, parts=tuple(bound))

    @property
    def n_columns(self) -> int:
        """Number of columns that rows have."""
        return sum(len(columns) for columns, _ in self.parts)

    def _prior_natural(self) -> Floats:
        """``lam_0``: zero for the count, then those of the parts."""
        return np.concatenate([[0.0], *(family.prior_natural for _, family in self.parts)])

    def _split(self, natural: Floats) -> list[Floats]:
        widths = [len(family.prior_natural) for _, family in self.parts]
        return np.split(natural[..., 1:], np.cumsum(widths)[:-1], axis=-1)

    def _over_parts(self, method: Callable[[Family, Dense], Floats], rows: Rows) -> list[Floats]:
        return [method(family, np.asarray(rows)[:, list(columns)]) for columns, family in self.parts]

    def stats(self, rows: Dense) -> Floats:
        """Sufficient statistics of each row, part by part."""
        return np.concatenate([np.ones((len(rows), 1)), *self._over_parts(lambda f, x: f.stats(x), rows)], axis=1)

    def log_base(self, rows: Rows) -> Floats:
        """Sum of the parts' base measures."""
        return np.asarray(np.sum(self._over_parts(lambda f, x: f.log_base(x), rows), axis=0))

    def log_normalizer(self, lam: Floats) -> Floats:
        """Sum of the parts' log-normalizers."""
        halves = zip(self.parts, self._split(lam), strict=True)
        return np.asarray(np.sum([family.log_normalizer(part) for (_, family), part in halves], axis=0))

    def expected_natural(self, lam: Floats) -> Floats:
        """``grad a(lam)``, part by part."""
        halves = zip(self.parts, self._split(lam), strict=True)
        parts = [family.expected_natural(part) for (_, family), part in halves]
        return np.concatenate([np.zeros((len(lam), 1)), *parts], axis=1)

    def predictive(self, rows: Rows, lam: Floats) -> Floats:
        """Sum of the parts' log predictive densities."""
        each = zip(self.parts, self._split(lam), strict=True)
        densities = [f.predictive(np.asarray(rows)[:, list(c)], part) for (c, f), part in each]
        return np.asarray(np.sum(densities, axis=0))

    def describe(self, lam: Floats) -> dict[str, Any]:
        """What each part tells of its columns, as a list with an entry a part."""
        each = zip(self.parts, self._split(lam), strict=True)
        return {"parts": [{"columns": c, "family": f.name, **f.describe(part)} for (c, f), part in each]}

    def sample(self, lam: Floats, n: int, rng: np.random.Generator) -> Floats:
        """Draw rows from the predictive distribution of one cluster."""
        out = np.empty((n, self.n_columns))
        for (columns, family), part in zip(self.parts, self._split(lam), strict=True):
            out[:, list(columns)] = family.sample(part, n, rng)
        return out

    def embed(self, rows: Rows) -> Floats:
        """The parts' spaces side by side."""
        return np.concatenate(self._over_parts(lambda f, x: f.embed(x), rows), axis=1)

    def same_prior(self, other: Family) -> bool:
        """Tell whether two bound families have the same prior in the data's own units."""
        return (
            isinstance(other, Product)
            and [c for c, _ in self.parts] == [c for c, _ in other.parts]
            and all(a.same_prior(b) for (_, a), (_, b) in zip(self.parts, other.parts, strict=True))
        )

    def recentred(self, stats: Floats, home: Self) -> Floats:
        """Move the parts' sums from another family's coordinates to this one's."""
        each = zip(self.parts, home.parts, self._split(stats), strict=True)
        return np.concatenate([stats[:, :1], *(a.recentred(part, b) for (_, a), (_, b), part in each)], axis=1)


@dataclass(frozen=True)
class Mixed:
    """A table as it is: numbers, counts, flags and categories, each column with the family that suits it.

    Numbers are modelled by a diagonal Gaussian, counts by a Poisson, flags by a Bernoulli, text and categories by a
    categorical family. Floats are numbers, whole numbers that are never negative are counts (flags if only 0 and 1
    occur), everything that isn't a number is a category; `columns` overrides this.

    Parameters
    ----------
    columns : mapping of column name or number to "real", "count", "flag" or "category", optional
        What some columns are, where their type doesn't tell.

    Examples
    --------
    >>> Mixed({"year": "real"}).kinds["year"]
    'real'
    """

    columns: Mapping[str | int, str] | None = None

    KINDS: ClassVar[dict[str, Callable[[], Family]]] = {
        "real": DiagonalGaussian,
        "count": Poisson,
        "flag": Bernoulli,
        "category": Categorical,
    }

    def __post_init__(self) -> None:
        for kind in self.kinds.values():
            if kind not in self.KINDS:
                raise unknown_option("columns", kind, self.KINDS)

    @property
    def kinds(self) -> dict[str | int, str]:
        """The overrides as a plain dictionary."""
        return dict(self.columns or {})

    def product(self, schema: Schema) -> Product:
        """Make the product of families that a table's schema asks for."""
        parts: list[Part] = []
        for kind, make in self.KINDS.items():
            columns = tuple(c for c, k in enumerate(schema.kinds) if k == kind)
            if kind == "category" and columns:
                levels = tuple(max(len(schema.categories[c] or ()), 1) for c in columns)
                parts.append((columns, Categorical(levels=levels)))
            elif columns:
                parts.append((columns, make()))
        return Product(tuple(parts))


def _narrowed(profile: Profile, columns: tuple[int, ...]) -> Profile:
    """Restrict a profile to some columns."""
    at = list(columns)

    def moved(place: tuple[int, int] | None) -> tuple[int, int] | None:
        return (place[0], at.index(place[1])) if place is not None and place[1] in at else None

    return replace(
        profile,
        names=None if profile.names is None else tuple(profile.names[c] for c in at),
        mean=profile.mean[at],
        variance=profile.variance[at],
        mean_square=profile.mean_square[at],
        low=profile.low[at],
        high=profile.high[at],
        present=profile.present[at],
        whole=profile.whole[at],
        missing_at=moved(profile.missing_at),
        negative_at=moved(profile.negative_at),
        fractional_at=moved(profile.fractional_at),
    )
