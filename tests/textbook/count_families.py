"""Clusters of counts, flags and categories, slow and plain; the methods are those of `wishart_families`."""

import numpy as np
from scipy import stats
from scipy.special import digamma, gammaln


def dirichlet_divergence(q, p):
    """KL between Dirichlets (between betas, if there are two entries)."""
    out = gammaln(sum(q)) - gammaln(sum(p))
    for q_v, p_v in zip(q, p, strict=True):
        out += gammaln(p_v) - gammaln(q_v) + (q_v - p_v) * (digamma(q_v) - digamma(sum(q)))
    return out


class Multinomial:
    """Rows of counts with the multinomial coefficient."""

    def __init__(self, concentration, n_columns):
        self.prior = np.array(np.broadcast_to(concentration, n_columns), dtype=float)

    def posterior(self, X, r):
        return self.prior + sum(r_n * x for r_n, x in zip(r, X, strict=True))

    def expected_log_likelihood(self, x, q):
        coefficient = gammaln(sum(x) + 1) - sum(gammaln(x_v + 1) for x_v in x)
        return coefficient + sum(x_v * (digamma(q_v) - digamma(sum(q))) for x_v, q_v in zip(x, q, strict=True))

    def divergence(self, q):
        return dirichlet_divergence(q, self.prior)

    def predictive(self, x, q):
        return float(stats.dirichlet_multinomial.logpmf(x.astype(int), q, int(sum(x))))


class Categorical:
    """Columns of codes, each with a Dirichlet."""

    def __init__(self, concentration, levels):
        self.prior = [np.full(n, float(concentration)) for n in levels]

    def posterior(self, X, r):
        out = [p.copy() for p in self.prior]
        for x, r_n in zip(X, r, strict=True):
            for column, x_d in enumerate(x):
                if not np.isnan(x_d):
                    out[column][int(x_d)] += r_n
        return out

    def expected_log_likelihood(self, x, q):
        return sum(digamma(p[int(x_d)]) - digamma(sum(p)) for x_d, p in zip(x, q, strict=True) if not np.isnan(x_d))

    def divergence(self, q):
        return sum(dirichlet_divergence(a, b) for a, b in zip(q, self.prior, strict=True))

    def predictive(self, x, q):
        return sum(np.log(p[int(x_d)] / sum(p)) for x_d, p in zip(x, q, strict=True) if not np.isnan(x_d))


class Bernoulli:
    """Columns of flags, each with a beta."""

    def __init__(self, a, b, n_columns):
        self.prior = [(float(a_d), float(b_d)) for a_d, b_d in np.broadcast_to(np.stack([a, b], -1), (n_columns, 2))]

    def posterior(self, X, r):
        out = []
        for column, (a, b) in enumerate(self.prior):
            seen = [(r_n, x[column]) for x, r_n in zip(X, r, strict=True) if not np.isnan(x[column])]
            out.append((a + sum(r_n for r_n, x in seen if x == 1), b + sum(r_n for r_n, x in seen if x == 0)))
        return out

    def expected_log_likelihood(self, x, q):
        return sum(
            digamma(a if x_d == 1 else b) - digamma(a + b)
            for x_d, (a, b) in zip(x, q, strict=True)
            if not np.isnan(x_d)
        )

    def divergence(self, q):
        return sum(dirichlet_divergence(a, b) for a, b in zip(q, self.prior, strict=True))

    def predictive(self, x, q):
        return sum(stats.betabinom.logpmf(x_d, 1, a, b) for x_d, (a, b) in zip(x, q, strict=True) if not np.isnan(x_d))


class Poisson:
    """Columns of counts, each with a gamma."""

    def __init__(self, shape, rate, n_columns):
        self.prior = [(float(s), float(r)) for s, r in np.broadcast_to(np.stack([shape, rate], -1), (n_columns, 2))]

    def posterior(self, X, r):
        out = []
        for column, (shape, rate) in enumerate(self.prior):
            seen = [(r_n, x[column]) for x, r_n in zip(X, r, strict=True) if not np.isnan(x[column])]
            out.append((shape + sum(r_n * x for r_n, x in seen), rate + sum(r_n for r_n, _ in seen)))
        return out

    def expected_log_likelihood(self, x, q):
        cells = 0.0
        for x_d, (shape, rate) in zip(x, q, strict=True):
            if not np.isnan(x_d):
                cells += x_d * (digamma(shape) - np.log(rate)) - shape / rate - gammaln(x_d + 1)
        return cells

    def divergence(self, q):
        out = 0.0
        for (a, b), (a0, b0) in zip(q, self.prior, strict=True):
            out += (a - a0) * digamma(a) - gammaln(a) + gammaln(a0) + a0 * (np.log(b) - np.log(b0)) + a * (b0 - b) / b
        return out

    def predictive(self, x, q):
        return sum(
            stats.nbinom.logpmf(x_d, a, b / (b + 1)) for x_d, (a, b) in zip(x, q, strict=True) if not np.isnan(x_d)
        )


class Product:
    """Families side by side."""

    def __init__(self, parts):
        self.parts = [(list(columns), family) for columns, family in parts]

    def posterior(self, X, r):
        return [family.posterior(X[:, columns], r) for columns, family in self.parts]

    def expected_log_likelihood(self, x, q):
        return sum(f.expected_log_likelihood(x[c], part) for (c, f), part in zip(self.parts, q, strict=True))

    def divergence(self, q):
        return sum(f.divergence(part) for (_, f), part in zip(self.parts, q, strict=True))

    def predictive(self, x, q):
        return sum(f.predictive(x[c], part) for (c, f), part in zip(self.parts, q, strict=True))
