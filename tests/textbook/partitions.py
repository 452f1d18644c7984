"""Exact log evidence of a few rows: the sum over all ways to divide them into clusters."""

import numpy as np
from scipy.special import gammaln, logsumexp


def partitions(items):
    """All set partitions of a list."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for smaller in partitions(rest):
        yield [[first], *smaller]
        for i, block in enumerate(smaller):
            yield [*smaller[:i], [first, *block], *smaller[i + 1 :]]


def log_marginal(X, family):
    """Log probability of rows that share one cluster: the chain rule over predictive distributions."""
    out = 0.0
    for n, x in enumerate(X):
        out += family.predictive(x, family.posterior(X[:n], np.ones(n)))
    return out


def chinese_restaurant(alpha):
    """Ewens' formula."""

    def log_probability(sizes):
        n = sum(sizes)
        return len(sizes) * np.log(alpha) + gammaln(alpha) - gammaln(alpha + n) + sum(gammaln(s) for s in sizes)

    return log_probability


def two_parameter(discount, alpha):
    """Pitman's formula, as the product of the seating probabilities of one customer after another."""

    def log_probability(sizes):
        out, seated, tables = 0.0, 0, 0
        for size in sizes:
            for already in range(size):
                if seated > 0:
                    up = alpha + tables * discount if already == 0 else already - discount
                    out += np.log(up) - np.log(seated + alpha)
                tables += already == 0
                seated += 1
        return out

    return log_probability


def finite_urn(n_clusters, concentration):
    """Dirichlet-multinomial over labels, times the number of ways to name the blocks."""

    def log_probability(sizes):
        each = concentration / n_clusters
        if len(sizes) > n_clusters:
            return -np.inf
        names = gammaln(n_clusters + 1) - gammaln(n_clusters - len(sizes) + 1)
        whole = gammaln(concentration) - gammaln(concentration + sum(sizes))
        return names + whole + sum(gammaln(each + s) - gammaln(each) for s in sizes)

    return log_probability


def log_evidence(X, family, log_probability):
    """Log p(X), exact up to rounding."""

    def term(blocks):
        return log_probability([len(b) for b in blocks]) + sum(log_marginal(X[b], family) for b in blocks)

    return float(logsumexp([term(blocks) for blocks in partitions(list(range(len(X))))]))
