"""Local step for Gaussians of many columns: distances by triangular factors, most of them never computed.

With ``B^-1 = F F^T``, F upper triangular, ``|(x - m)^T F|^2`` is a sum of squares that grows column by column, and
its first d terms are the Mahalanobis distance in the first d columns alone. So a few columns bound a cluster's score
from above, for all rows and clusters, at a fraction of the cost; rows are scored in full only by clusters whose bound
is within `SUPPORT` nats of the best full score, and all others would have got a responsibility of exactly zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickbreak.core.arrays import Floats, Ints
from stickbreak.core.kernels import SUPPORT, Responsibilities
from stickbreak.families.wishart import cholesky, inverse_factors

LEADING = 32
"""Columns in the first look."""


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
        return cls(constant, scale, centres, inverse_factors(chol), columns, leading, offset)

    def score(self, z: Floats, log_weights: Floats) -> Floats:
        """Score rows; ``-inf`` where a score could not matter."""
        n_clusters = len(self.constant)
        constant = self.constant + log_weights
        part = z[:, self.columns] @ self.leading - self.offset
        part = part.reshape(len(z), n_clusters, -1)
        upper = constant - self.scale / 2.0 * np.einsum("nkd,nkd->nk", part, part)
        out = np.full(upper.shape, -np.inf)
        best = np.argmax(upper, axis=1)
        self._fill(out, z, best[:, None] == np.arange(n_clusters), constant)
        floor = out[np.arange(len(z)), best] - SUPPORT
        self._fill(out, z, (upper > floor[:, None]) & np.isneginf(out), constant)
        return out

    def _fill(self, out: Floats, z: Floats, wanted: np.ndarray, constant: Floats) -> None:
        for k in np.flatnonzero(wanted.any(axis=0)):
            rows = np.flatnonzero(wanted[:, k])
            y = (z[rows] - self.centres[k]) @ self.factors[k]
            out[rows, k] = constant[k] - self.scale[k] / 2.0 * np.einsum("ij,ij->i", y, y)


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
