"""Local step for Gaussians of many columns: distances by triangular factors, most of them never computed in full.

With ``B^-1 = F F^T``, F upper triangular, ``|(x - m)^T F|^2`` is a sum of squares that grows column by column. Rows
and clusters are looked at three times, each time only those that could still matter:

1. By the few columns that tell clusters apart best. Their part of the sum bounds a cluster's score from above.
2. In single precision. With ``e`` a bound on the rounding of ``|(x - m)^T F|``, the true length is not below the
   computed one less e, which again bounds the score from above.
3. In full.

A score that is certain to lie more than `SUPPORT` nats below a row's best would have got a responsibility of exactly
zero, so the result is the same as if all had been computed in full.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stickbreak.core.arrays import Bools, Dense, Floats, Ints
from stickbreak.core.kernels import SUPPORT, Responsibilities, squared_lengths
from stickbreak.families.wishart import cholesky, inverse_factors

LEADING = 32
"""Columns in the first look."""

BLOCK = 64
"""Columns of a factor at a time: products skip the zeros below the diagonal."""


@dataclass(frozen=True, slots=True, eq=False)
class FactorScorer:
    """Scores ``constant_k - scale_k / 2 |(z - m_k)^T F_k|^2`` for all K clusters.

    Parameters
    ----------
    constant, scale : ndarray of shape (K,)
        See above; the scale is the posterior degrees of freedom.
    centres : ndarray of shape (K, D)
        ``m_k``.
    factors : ndarray of shape (K, D, D)
        ``F_k``, upper triangular.
    single : ndarray of shape (K, D, D)
        The factors in single precision.
    single_offset : ndarray of shape (K, D)
        ``m_k^T F_k`` in single precision.
    rounding : ndarray of shape (K,)
        Bound on the rounding of ``|z^T F_k|`` in single precision, for a row of unit length.
    columns : ndarray of shape (d,)
        Columns of the first look.
    leading : ndarray of shape (d, K * d)
        The factors of the marginals of those columns, side by side.
    offset : ndarray of shape (K * d,)
        ``m_k^T F_k`` of the marginals.
    """

    constant: Floats
    scale: Floats
    centres: Floats
    factors: Floats
    single: npt.NDArray[np.float32]
    single_offset: npt.NDArray[np.float32]
    rounding: Floats
    columns: Ints
    leading: Floats
    offset: Floats

    @classmethod
    def build(cls, constant: Floats, scale: Floats, centres: Floats, scatter: Floats, chol: Floats) -> FactorScorer:
        """Prepare from scatter matrices ``B_k`` and their Cholesky factors."""
        n, d = centres.shape
        columns = most_telling(centres, scatter, scale)[: min(LEADING, d)]
        marginal = inverse_factors(cholesky(scatter[:, columns[:, None], columns]))
        offset = np.einsum("kd,kde->ke", centres[:, columns], marginal).ravel()
        leading = marginal.transpose(1, 0, 2).reshape(len(columns), n * len(columns))
        factors = inverse_factors(chol)
        # Of an inner product of d numbers: d roundings of products and sums, two of the operands.
        rounding = (d + 2) * np.finfo(np.float32).eps * np.sqrt(np.einsum("kde,kde->k", factors, factors))
        single = factors.astype(np.float32)
        middle = np.einsum("kd,kde->ke", centres, factors).astype(np.float32)
        return cls(constant, scale, centres, factors, single, middle, rounding, columns, leading, offset)

    def score(self, z: Floats, log_weights: Floats) -> Floats:
        """Score rows; ``-inf`` where a score could not matter."""
        constant = self.constant + log_weights
        part = z[:, self.columns] @ self.leading
        part -= self.offset
        part = part.reshape(len(z), len(constant), -1)
        upper = constant - self.scale / 2.0 * np.einsum("nkd,nkd->nk", part, part)
        out = np.full(upper.shape, -np.inf)
        best = np.argmax(upper, axis=1)
        self._fill(out, z, best[:, None] == np.arange(len(constant)), constant)
        floor = out[np.arange(len(z)), best] - SUPPORT
        wanted = self._not_hopeless(z, (upper > floor[:, None]) & np.isneginf(out), constant, floor)
        self._fill(out, z, wanted, constant)
        return out

    def _not_hopeless(self, z: Floats, wanted: Bools, constant: Floats, floor: Floats) -> Bools:
        """Look at rows and clusters in single precision and leave out those that can't matter."""
        single = z.astype(np.float32)
        reach = np.sqrt(np.einsum("nd,nd->n", z, z))
        for k in np.flatnonzero(wanted.any(axis=0)):
            rows = np.flatnonzero(wanted[:, k])
            squared = _squared_distances(single[rows], self.single[k], self.single_offset[k])
            rounding = self.rounding[k] * (reach[rows] + np.linalg.norm(self.centres[k]))
            least = np.maximum(np.sqrt(squared) - rounding, 0.0)
            wanted[rows, k] = constant[k] - self.scale[k] / 2.0 * least**2 > floor[rows]
        return wanted

    def _fill(self, out: Floats, z: Floats, wanted: Bools, constant: Floats) -> None:
        origin = np.zeros(z.shape[1])
        for k in np.flatnonzero(wanted.any(axis=0)):
            rows = np.flatnonzero(wanted[:, k])
            squared = _squared_distances(z[rows] - self.centres[k], self.factors[k], origin)
            out[rows, k] = constant[k] - self.scale[k] / 2.0 * squared


def _squared_distances(y: Dense, factor: Dense, offset: Dense) -> Floats:
    """``|y_n^T F - offset|^2`` of each row."""
    out = np.zeros(len(y))
    for low in range(0, len(factor), BLOCK):
        high = low + BLOCK
        squared_lengths(y[:, :high] @ factor[:high, low:high], offset[low:high], out)
    return out


def most_telling(centres: Floats, scatter: Floats, scale: Floats) -> Ints:
    """Order columns by how far apart they hold the clusters: spread of centres and of spreads, in units of spread."""
    variance = np.diagonal(scatter, axis1=1, axis2=2) / scale[:, None]
    between = centres.var(axis=0) / variance.mean(axis=0)
    return np.argsort(-(between + np.log(variance).var(axis=0)), kind="stable")


def collect_outer(z: Floats, resp: Responsibilities, n_clusters: int) -> tuple[Floats, Floats, Floats]:
    """Sums of weights (K,), of rows (K, D) and of outer products (K, D, D) by responsibility."""
    n, d = z.shape
    mass, first, second = np.zeros(n_clusters), np.zeros((n_clusters, d)), np.zeros((n_clusters, d, d))
    row = np.repeat(np.arange(n), np.diff(resp.start))
    order = np.argsort(resp.cluster, kind="stable")
    edges = np.searchsorted(resp.cluster[order], np.arange(n_clusters + 1))
    for k in range(n_clusters):
        held = order[edges[k] : edges[k + 1]]
        if len(held) == 0:
            continue
        r = resp.value[held]
        x = z[row[held]]
        mass[k] = r.sum()
        first[k] = r @ x
        x *= np.sqrt(r)[:, None]
        second[k] = x.T @ x
    return mass, first, second
