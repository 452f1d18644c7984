"""What the full-covariance Gaussians share: packed symmetric matrices, Wishart moments, Mahalanobis distances.

A symmetric matrix is packed as its upper triangle, row by row, each product ``z_i z_j`` once. In natural parameters the
entries off the diagonal therefore count twice.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.linalg.lapack import dtrtri
from scipy.special import digamma, gammaln

from stickbreak.core.arrays import Floats, Ints


@lru_cache(maxsize=32)
def triangle(d: int) -> tuple[Ints, Ints]:
    """Row and column of each packed entry of a d x d matrix."""
    i, j = np.triu_indices(d)
    return i, j


def pack(matrices: Floats) -> Floats:
    """Pack symmetric matrices (..., D, D) into (..., D(D+1)/2)."""
    i, j = triangle(matrices.shape[-1])
    return matrices[..., i, j]


def unpack(packed: Floats, d: int) -> Floats:
    """Undo `pack`."""
    i, j = triangle(d)
    out = np.empty((*packed.shape[:-1], d, d))
    out[..., i, j] = packed
    out[..., j, i] = packed
    return out


def pack_natural(matrices: Floats) -> Floats:
    """Pack matrices so that the inner product with packed ``z z^T`` is ``tr(matrix z z^T)``."""
    i, j = triangle(matrices.shape[-1])
    return matrices[..., i, j] * np.where(i == j, 1.0, 2.0)


def cholesky(matrices: Floats) -> Floats:
    """Lower Cholesky factors of (K, D, D) scatter matrices, which mathematics says are positive definite.

    Where rounding says otherwise (a cluster flat to the last bit), the diagonal is raised by the smallest power of
    ten times machine epsilon that helps.
    """
    try:
        return np.asarray(np.linalg.cholesky(matrices))
    except np.linalg.LinAlgError:
        return np.stack([_cholesky_raised(m) for m in matrices])


def _cholesky_raised(matrix: Floats) -> Floats:
    scale = np.abs(np.diagonal(matrix)) + np.finfo(float).tiny
    for raise_by in [0.0, *np.finfo(float).eps * 10.0 ** np.arange(12)]:
        try:
            return np.asarray(np.linalg.cholesky(matrix + np.diag(raise_by * scale)))
        except np.linalg.LinAlgError:
            continue
    return np.diag(np.sqrt(scale))


def inverse_factors(chol: Floats) -> Floats:
    """Upper triangular ``F`` with ``B^-1 = F F^T``, from ``B = L L^T``: the transposes of the inverses of L."""
    return np.stack([dtrtri(lower, lower=1)[0].T for lower in chol])


def log_det(chol: Floats) -> Floats:
    """``log |B|`` from Cholesky factors."""
    return np.asarray(2.0 * np.log(np.diagonal(chol, axis1=-2, axis2=-1)).sum(axis=-1))


def log_gamma_d(x: Floats, d: int) -> Floats:
    """Logarithm of the multivariate gamma function of dimension d (supplement, below eq. 8)."""
    steps = np.arange(d) / 2.0
    return np.asarray(d * (d - 1) / 4.0 * np.log(np.pi) + gammaln(x[..., None] - steps).sum(axis=-1))


def digamma_d(x: Floats, d: int) -> Floats:
    """Multivariate digamma function of dimension d (supplement, below eq. 20)."""
    return np.asarray(digamma(x[..., None] - np.arange(d) / 2.0).sum(axis=-1))


def expected_log_det(nu: Floats, log_det_b: Floats, d: int) -> Floats:
    """``E[log |Lambda|]`` under Wishart(nu, B^-1) (supplement eq. 20)."""
    return np.asarray(digamma_d(nu / 2.0, d) + d * np.log(2.0) - log_det_b)


def log_wishart_normalizer(nu: Floats, log_det_b: Floats, d: int) -> Floats:
    """``log Z(nu, B^-1)`` (supplement eq. 8)."""
    return np.asarray(nu * d / 2.0 * np.log(2.0) + log_gamma_d(nu / 2.0, d) - nu / 2.0 * log_det_b)


def log_student(squared: Floats, nu: Floats, log_det_b: Floats, spread: Floats, d: int) -> Floats:
    """Log density of the predictive Student t.

    Parameters
    ----------
    squared : ndarray of shape (n, K)
        ``(x - m_k)^T B_k^-1 (x - m_k)``.
    nu, log_det_b : ndarray of shape (K,)
        Posterior degrees of freedom and log determinant of the scatter.
    spread : ndarray of shape (K,)
        ``(kappa + 1) / kappa``, or 1 for a mean known to be zero.
    d : int
        Number of columns.
    """
    constant = gammaln((nu + 1) / 2) - gammaln((nu + 1 - d) / 2) - d / 2 * np.log(np.pi * spread) - log_det_b / 2
    return np.asarray(constant - (nu + 1) / 2 * np.log1p(squared / spread))


def mahalanobis(z: Floats, centres: Floats, factors: Floats) -> Floats:
    """Squared distances ``|(z_n - m_k)^T F_k|^2`` of n rows from K centres, of shape (n, K)."""
    out = np.empty((len(z), len(centres)))
    for k, (m, f) in enumerate(zip(centres, factors, strict=True)):
        y = (z - m) @ f
        out[:, k] = np.einsum("ij,ij->i", y, y)
    return out


def draw_student(mean: Floats, chol: Floats, nu: float, spread: float, n: int, rng: np.random.Generator) -> Floats:
    """Draw n rows of the predictive Student t with ``nu + 1 - D`` degrees of freedom."""
    d = len(mean)
    free = nu + 1 - d
    normal = rng.standard_normal((n, d)) @ chol.T
    return np.asarray(mean + normal * np.sqrt(spread / rng.chisquare(free, size=(n, 1))))
