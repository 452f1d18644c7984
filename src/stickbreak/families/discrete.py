"""Columns of flags (Bernoulli), counts (Poisson) and categories, independent within a cluster; cells may be missing.

Each has ``t(x) = [1, ...]`` with zeros where a cell is missing, and a conjugate prior a column: beta, gamma, Dirichlet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy.special import betaln, digamma, gammaln

from stickbreak.core.arrays import Dense, Floats, Ints, Rows
from stickbreak.core.family import Family
from stickbreak.errors import DataError, OptionError, SchemaError
from stickbreak.families.checks import known, per_column, require_counts, scale_of

if TYPE_CHECKING:
    from stickbreak.data.profile import Profile


def _with_count(*blocks: Floats) -> Floats:
    """Put a column in front of blocks of columns: zeros for parameters, to be set to 1 for statistics."""
    return np.concatenate([np.zeros((len(blocks[0]), 1)), *blocks], axis=1)


@dataclass(frozen=True, eq=False)
class Bernoulli(Family):
    """Columns of zeros and ones, each with a beta prior.

    ``t(x) = [1, x, 1 - x]``, ``eta = [0, log p, log(1 - p)]``, ``log h = 0``.

    Parameters
    ----------
    a, b : float or ndarray of shape (D,)
        Prior counts of ones and of zeros.

    Examples
    --------
    >>> Bernoulli(a=1.0, b=1.0).name
    'bernoulli'
    """

    name: ClassVar[str] = "bernoulli"
    allows_missing: ClassVar[bool] = True
    a: Any = 0.5
    b: Any = 0.5

    def check(self, profile: Profile) -> None:
        """Refuse anything but zeros and ones."""
        wrong = (profile.present > 0) & ((profile.low < 0) | (profile.high > 1) | ~profile.whole)
        if np.any(wrong):
            column = int(np.flatnonzero(wrong)[0])
            raise DataError(
                f'family="bernoulli" takes zeros and ones, but {profile.label(column)} ranges from '
                f"{profile.low[column]:g} to {profile.high[column]:g}. Negative values in data, fractions and larger "
                'counts have other families: "gaussian", "poisson".',
                column=column,
            )

    def bind(self, profile: Profile) -> Self:
        """Spread the hyperparameters over the columns."""
        d = len(profile.mean)
        return replace(self, a=per_column(self.a, d, "a"), b=per_column(self.b, d, "b"))

    @property
    def n_columns(self) -> int:
        """Number of columns that rows have."""
        return len(self.a)

    def _prior_natural(self) -> Floats:
        """``lam_0 = [0, a, b]``."""
        return np.concatenate([[0.0], self.a, self.b])

    def stats(self, rows: Dense) -> Floats:
        """Sufficient statistics of each row."""
        x = np.asarray(rows, dtype=np.float64)
        out = _with_count(np.nan_to_num(x), np.nan_to_num(1 - x))
        out[:, 0] = 1.0
        return out

    def log_base(self, rows: Rows) -> Floats:
        """Zero for each row."""
        return np.zeros(rows.shape[0])

    def log_normalizer(self, lam: Floats) -> Floats:
        """``a(lam)``: log beta functions, added up."""
        a, b = np.split(lam[..., 1:], 2, axis=-1)
        return np.asarray(betaln(a, b).sum(axis=-1))

    def expected_natural(self, lam: Floats) -> Floats:
        """``grad a(lam)``."""
        a, b = np.split(lam[:, 1:], 2, axis=1)
        whole = digamma(a + b)
        return _with_count(digamma(a) - whole, digamma(b) - whole)

    def predictive(self, rows: Rows, lam: Floats) -> Floats:
        """Log probability with each column's expected rate."""
        a, b = np.split(lam[:, 1:], 2, axis=1)
        return np.asarray(self.stats(np.asarray(rows)) @ _with_count(np.log(a / (a + b)), np.log(b / (a + b))).T)

    def describe(self, lam: Floats) -> dict[str, Any]:
        """Expected rate of ones of each column."""
        a, b = np.split(lam[:, 1:], 2, axis=1)
        return {"probabilities": a / (a + b)}

    def sample(self, lam: Floats, n: int, rng: np.random.Generator) -> Floats:
        """Draw rows from the predictive distribution of one cluster."""
        a, b = np.split(lam[1:], 2)
        return (rng.random((n, len(a))) < a / (a + b)).astype(np.float64)

    def embed(self, rows: Rows) -> Floats:
        """The flags themselves, missing cells halfway."""
        return np.asarray(np.nan_to_num(np.asarray(rows, dtype=np.float64), nan=0.5))


@dataclass(frozen=True, eq=False)
class Poisson(Family):
    """Columns of counts, each with a gamma prior.

    ``t(x) = [1, x, o]`` with o = 1 where the cell is there, ``eta = [0, log mu, -mu]``, ``log h = -log x!``.

    Parameters
    ----------
    shape : float or ndarray of shape (D,)
        Prior shape.
    rate : float or ndarray of shape (D,), optional
        Prior rate; by default such that the prior's mean is the column's mean.

    Examples
    --------
    >>> Poisson(shape=2.0, rate=0.5).name
    'poisson'
    """

    name: ClassVar[str] = "poisson"
    allows_missing: ClassVar[bool] = True
    shape: Any = 1.0
    rate: Any = None

    def check(self, profile: Profile) -> None:
        """Refuse anything but counts."""
        require_counts(profile, 'family="poisson"')

    def bind(self, profile: Profile) -> Self:
        """Fill in what was left to the data."""
        d = len(profile.mean)
        shape = per_column(self.shape, d, "shape")
        mean = scale_of(np.where(profile.present > 0, profile.mean, 0.0))
        return replace(self, shape=shape, rate=per_column(shape / mean if self.rate is None else self.rate, d, "rate"))

    @property
    def n_columns(self) -> int:
        """Number of columns that rows have."""
        return len(known(self.rate, "rate"))

    def _prior_natural(self) -> Floats:
        """``lam_0 = [0, shape, rate]``."""
        return np.concatenate([[0.0], self.shape, known(self.rate, "rate")])

    def stats(self, rows: Dense) -> Floats:
        """Sufficient statistics of each row."""
        x = np.asarray(rows, dtype=np.float64)
        out = _with_count(np.nan_to_num(x), ~np.isnan(x))
        out[:, 0] = 1.0
        return out

    def log_base(self, rows: Rows) -> Floats:
        """``-log x!`` over the cells that are there."""
        return np.asarray(-np.nansum(gammaln(np.asarray(rows, dtype=np.float64) + 1), axis=1))

    def log_normalizer(self, lam: Floats) -> Floats:
        """``a(lam)``: the gammas' log normalisers, added up."""
        shape, rate = np.split(lam[..., 1:], 2, axis=-1)
        return np.asarray(np.sum(gammaln(shape) - shape * np.log(rate), axis=-1))

    def expected_natural(self, lam: Floats) -> Floats:
        """``grad a(lam)``."""
        shape, rate = np.split(lam[:, 1:], 2, axis=1)
        return _with_count(digamma(shape) - np.log(rate), -shape / rate)

    def predictive(self, rows: Rows, lam: Floats) -> Floats:
        """Log probability of negative binomials, over the cells that are there."""
        x = np.asarray(rows, dtype=np.float64)
        shape, rate = np.split(lam[:, 1:], 2, axis=1)
        out = np.empty((len(x), len(lam)))
        for k in range(len(lam)):
            cells = gammaln(shape[k] + x) - gammaln(shape[k]) - shape[k] * np.log1p(1 / rate[k]) - x * np.log1p(rate[k])
            out[:, k] = np.nansum(cells, axis=1)
        return out + self.log_base(x)[:, None]

    def describe(self, lam: Floats) -> dict[str, Any]:
        """Expected rate of each column."""
        shape, rate = np.split(lam[:, 1:], 2, axis=1)
        return {"rates": shape / rate}

    def sample(self, lam: Floats, n: int, rng: np.random.Generator) -> Floats:
        """Draw rows from the predictive negative binomials of one cluster."""
        shape, rate = np.split(lam[1:], 2)
        return rng.poisson(rng.gamma(shape, 1 / rate, size=(n, len(shape)))).astype(np.float64)

    def embed(self, rows: Rows) -> Floats:
        """Twice the square roots, whose variance hardly depends on the rate; missing cells at the prior's mean."""
        x = np.asarray(rows, dtype=np.float64)
        return np.asarray(2 * np.sqrt(np.where(np.isnan(x), self.shape / self.rate, x)))


@dataclass(frozen=True, eq=False)
class Categorical(Family):
    """Columns of categories, coded 0, 1, 2, ..., each with a symmetric Dirichlet prior.

    ``t(x)`` is 1 and, for each column, 1 in the place of its category; ``eta`` are log probabilities, ``log h = 0``.

    Parameters
    ----------
    concentration : float
        Prior count of each category.
    levels : tuple of int, optional
        Number of categories of each column; by default one more than the largest code.

    Examples
    --------
    >>> Categorical(levels=(2, 3)).n_columns
    2
    """

    name: ClassVar[str] = "categorical"
    allows_missing: ClassVar[bool] = True
    concentration: float = 0.5
    levels: tuple[int, ...] | None = None

    def check(self, profile: Profile) -> None:
        """Refuse anything but codes 0, 1, 2, ... of known categories."""
        require_counts(profile, 'family="categorical" (categories are coded 0, 1, 2, ...)')
        if self.levels is None:
            return
        beyond = (profile.present > 0) & (profile.high >= np.array(self.levels))
        if np.any(beyond):
            column = int(np.flatnonzero(beyond)[0])
            raise SchemaError(
                f"{profile.label(column)} holds category {profile.high[column]:g}, but the model knows categories 0 to "
                f"{self.levels[column] - 1}. Replace it by a missing value to leave the cell out."
            )

    def bind(self, profile: Profile) -> Self:
        """Take the number of categories from the data if it wasn't given."""
        per_column(self.concentration, 1, "concentration")
        high = np.where(profile.present > 0, profile.high, 0)
        levels = tuple(int(h) + 1 for h in high) if self.levels is None else tuple(self.levels)
        if len(levels) != len(high):
            raise OptionError(f"levels has {len(levels)} entries, but the data have {len(high)} columns.")
        return replace(self, levels=levels)

    @property
    def n_columns(self) -> int:
        """Number of columns that rows have."""
        return len(known(self.levels, "levels"))

    @property
    def _first(self) -> Ints:
        """Place of each column's first category, without the count."""
        return np.concatenate([[0], np.cumsum(known(self.levels, "levels"))[:-1]]).astype(np.int64)

    def _prior_natural(self) -> Floats:
        """``lam_0``."""
        return np.concatenate([[0.0], np.full(sum(known(self.levels, "levels")), self.concentration)])

    def stats(self, rows: Dense) -> Floats:
        """Sufficient statistics of each row."""
        x = np.asarray(rows, dtype=np.float64)
        out = np.zeros((len(x), 1 + sum(known(self.levels, "levels"))))
        out[:, 0] = 1.0
        # A missing cell is below nothing; nor is a category not known, which only rows of weight zero can hold here.
        row, column = np.nonzero(x < np.array(known(self.levels, "levels")))
        out[row, 1 + self._first[column] + x[row, column].astype(np.int64)] = 1.0
        return out

    def log_base(self, rows: Rows) -> Floats:
        """Zero for each row."""
        return np.zeros(rows.shape[0])

    def _totals(self, lam: Floats) -> Floats:
        return np.asarray(np.add.reduceat(lam[..., 1:], self._first, axis=-1))

    def log_normalizer(self, lam: Floats) -> Floats:
        """``a(lam)``: the Dirichlets' log normalisers, added up."""
        return np.asarray(gammaln(lam[..., 1:]).sum(axis=-1) - gammaln(self._totals(lam)).sum(axis=-1))

    def expected_natural(self, lam: Floats) -> Floats:
        """``grad a(lam)``."""
        totals = np.repeat(digamma(self._totals(lam)), known(self.levels, "levels"), axis=1)
        return _with_count(digamma(lam[:, 1:]) - totals)

    def _expected(self, lam: Floats) -> Floats:
        return np.asarray(lam[:, 1:] / np.repeat(self._totals(lam), known(self.levels, "levels"), axis=1))

    def predictive(self, rows: Rows, lam: Floats) -> Floats:
        """Log probability with each column's expected shares."""
        return np.asarray(self.stats(np.asarray(rows)) @ _with_count(np.log(self._expected(lam))).T)

    def describe(self, lam: Floats) -> dict[str, Any]:
        """Expected shares of the categories, a list with one (K, levels) array a column."""
        return {"category_probabilities": np.split(self._expected(lam), self._first[1:], axis=1)}

    def sample(self, lam: Floats, n: int, rng: np.random.Generator) -> Floats:
        """Draw rows of codes from the predictive distribution of one cluster."""
        shares = np.split(self._expected(lam[None])[0], self._first[1:])
        return np.stack([rng.choice(len(p), size=n, p=p) for p in shares], axis=1).astype(np.float64)

    def embed(self, rows: Rows) -> Floats:
        """One column a category."""
        return self.stats(np.asarray(rows))[:, 1:]
