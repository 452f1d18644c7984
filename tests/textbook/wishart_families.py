"""Gaussian clusters as in Bishop (2006), chapter 10.2, and the supplement of Hughes & Sudderth (2013): slow and plain.

Every class here has the same four methods, one row and one cluster at a time:

- ``posterior(X, r)``: parameters of q(phi) after rows X with responsibilities r;
- ``expected_log_likelihood(x, q)``: E_q[log p(x | phi)];
- ``divergence(q)``: KL(q(phi) || p(phi));
- ``predictive(x, q)``: log p(x | rows), from SciPy.

Parameters are plain tuples.
"""

import numpy as np
from scipy import stats
from scipy.special import digamma, gammaln


def log_wishart_b(w, nu):
    """Logarithm of B(W, nu), Bishop (B.79)."""
    d = len(w)
    terms = [gammaln((nu + 1 - i) / 2) for i in range(1, d + 1)]
    return -nu / 2 * np.log(np.linalg.det(w)) - nu * d / 2 * np.log(2) - d * (d - 1) / 4 * np.log(np.pi) - sum(terms)


def expected_log_det(w, nu):
    """E[ln |Lambda|], Bishop (10.65)."""
    d = len(w)
    return sum(digamma((nu + 1 - i) / 2) for i in range(1, d + 1)) + d * np.log(2) + np.log(np.linalg.det(w))


def wishart_divergence(w, nu, w0, nu0):
    """KL between Wisharts: minus the entropy, Bishop (B.82), minus the expected log density, (B.78)."""
    d = len(w)
    log_det = expected_log_det(w, nu)
    entropy = -log_wishart_b(w, nu) - (nu - d - 1) / 2 * log_det + nu * d / 2
    cross = log_wishart_b(w0, nu0) + (nu0 - d - 1) / 2 * log_det - nu / 2 * np.trace(np.linalg.inv(w0) @ w)
    return -entropy - cross


class NormalWishart:
    """Any mean, full covariance."""

    def __init__(self, mean, strength, dof, scatter):
        self.prior = (np.array(mean, dtype=float), float(strength), np.linalg.inv(scatter), float(dof))

    def posterior(self, X, r):
        """Bishop (10.51) to (10.53) and (10.60) to (10.63)."""
        m0, beta0, w0, nu0 = self.prior
        n_k = sum(r)
        mean = sum(r_n * x for r_n, x in zip(r, X, strict=True)) / n_k if n_k > 0 else m0
        scatter = sum(r_n * np.outer(x - mean, x - mean) for r_n, x in zip(r, X, strict=True))
        beta = beta0 + n_k
        m = (beta0 * m0 + n_k * mean) / beta
        w_inverse = np.linalg.inv(w0) + scatter + beta0 * n_k / (beta0 + n_k) * np.outer(mean - m0, mean - m0)
        return m, beta, np.linalg.inv(w_inverse), nu0 + n_k

    def expected_log_likelihood(self, x, q):
        """Bishop (10.46), (10.64), (10.65)."""
        m, beta, w, nu = q
        d = len(m)
        squared = d / beta + nu * (x - m) @ w @ (x - m)
        return expected_log_det(w, nu) / 2 - d / 2 * np.log(2 * np.pi) - squared / 2

    def divergence(self, q):
        """KL of Lambda's Wishart, and of mu's normal given Lambda averaged over it."""
        m, beta, w, nu = q
        m0, beta0, w0, nu0 = self.prior
        d = len(m)
        apart = nu * (m - m0) @ w @ (m - m0)
        normal = (d * beta0 / beta - d + d * np.log(beta / beta0) + beta0 * apart) / 2
        return normal + wishart_divergence(w, nu, w0, nu0)

    def predictive(self, x, q):
        """Bishop (10.81) and (10.82)."""
        m, beta, w, nu = q
        free = nu + 1 - len(m)
        shape = np.linalg.inv(w) * (1 + beta) / (beta * free)
        return stats.multivariate_t.logpdf(x, loc=m, shape=shape, df=free)


class Wishart:
    """Mean zero, full covariance: the supplement's section 1."""

    def __init__(self, dof, scatter):
        self.prior = (np.linalg.inv(scatter), float(dof))

    def posterior(self, X, r):
        """Supplement eq. (18)."""
        w0, nu0 = self.prior
        return np.linalg.inv(
            np.linalg.inv(w0) + sum(r_n * np.outer(x, x) for r_n, x in zip(r, X, strict=True))
        ), nu0 + sum(r)

    def expected_log_likelihood(self, x, q):
        """Supplement eq. (19) and (20)."""
        w, nu = q
        return -len(x) / 2 * np.log(2 * np.pi) + expected_log_det(w, nu) / 2 - np.trace(nu * w @ np.outer(x, x)) / 2

    def divergence(self, q):
        return wishart_divergence(*q, *self.prior)

    def predictive(self, x, q):
        w, nu = q
        free = nu + 1 - len(x)
        return stats.multivariate_t.logpdf(x, loc=np.zeros(len(x)), shape=np.linalg.inv(w) / free, df=free)


class NormalGammas:
    """Independent columns, tau ~ Gamma(a, b), mu ~ N(m, 1 / (kappa tau)); NaN cells are left out."""

    def __init__(self, mean, strength, dof, scatter):
        d = len(mean)
        spread = (np.broadcast_to(value, d) for value in (strength, dof, scatter))
        each = zip(mean, *spread, strict=True)
        self.prior = [(m, kappa, nu / 2, b / 2) for m, kappa, nu, b in each]

    def posterior(self, X, r):
        """Column by column, completing the square by hand."""
        out = []
        for d, (m0, kappa0, a0, b0) in enumerate(self.prior):
            seen = [(r_n, x[d]) for r_n, x in zip(r, X, strict=True) if not np.isnan(x[d])]
            n_k = sum(r_n for r_n, _ in seen)
            mean = sum(r_n * x for r_n, x in seen) / n_k if n_k > 0 else m0
            scatter = sum(r_n * (x - mean) ** 2 for r_n, x in seen)
            kappa = kappa0 + n_k
            b = b0 + scatter / 2 + kappa0 * n_k * (mean - m0) ** 2 / (2 * kappa)
            out.append(((kappa0 * m0 + n_k * mean) / kappa, kappa, a0 + n_k / 2, b))
        return out

    def expected_log_likelihood(self, x, q):
        cells = 0.0
        for x_d, (m, kappa, a, b) in zip(x, q, strict=True):
            if not np.isnan(x_d):
                cells += (digamma(a) - np.log(b) - np.log(2 * np.pi) - 1 / kappa - a / b * (x_d - m) ** 2) / 2
        return cells

    def divergence(self, q):
        out = 0.0
        for (m, kappa, a, b), (m0, kappa0, a0, b0) in zip(q, self.prior, strict=True):
            out += (kappa0 / kappa - 1 + np.log(kappa / kappa0) + kappa0 * a / b * (m - m0) ** 2) / 2
            out += (a - a0) * digamma(a) - gammaln(a) + gammaln(a0) + a0 * (np.log(b) - np.log(b0)) + a * (b0 - b) / b
        return out

    def predictive(self, x, q):
        cells = [
            stats.t.logpdf(x_d, 2 * a, m, np.sqrt(b * (kappa + 1) / (a * kappa)))
            for x_d, (m, kappa, a, b) in zip(x, q, strict=True)
            if not np.isnan(x_d)
        ]
        return sum(cells)
