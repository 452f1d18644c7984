"""A learned concentration: its integral by other means, and what it is never worse than."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate
from scipy.special import betaln, digamma, gammaln

from stickbreak import priors
from stickbreak.priors import LearnedConcentration
from textbook.count_families import dirichlet_divergence

COUNTS = {
    "one": np.array([7.0]),
    "three": np.array([5.0, 3.2, 0.7]),
    "equal": np.full(40, 25.0),
    "many": np.sort(np.random.default_rng(0).pareto(1.0, 300) * 50 + 1)[::-1],
    "large": np.array([3e6, 2e4, 10.0, 1.0]),
    "holes": np.array([9.0, 4.0, 0.0, 0.0]),
    "whole": np.array([100.0, 0.0]),
}
GAMMAS = {"1,1": (1.0, 1.0), "2,0.5": (2.0, 0.5), "5,100": (5.0, 100.0), "0.5,0.5": (0.5, 0.5), "0.1,0.1": (0.1, 0.1)}
every_counts = pytest.mark.parametrize("counts", COUNTS.values(), ids=COUNTS)
every_gamma = pytest.mark.parametrize(("shape", "rate"), GAMMAS.values(), ids=GAMMAS)


def process(alpha, counts):
    """Log evidence of a Dirichlet process's sticks."""
    behind = np.append(np.cumsum(counts[:0:-1])[::-1], 0.0)
    return np.sum(betaln(1 + counts, alpha + behind) + np.log(alpha))


def urn(alpha, counts, n=400):
    """Log evidence of a Dirichlet-multinomial."""
    return (
        gammaln(alpha) - gammaln(alpha + sum(counts)) + sum(gammaln(alpha / n + c) - gammaln(alpha / n) for c in counts)
    )


def averages(evidence, counts, shape, rate):
    """Log of the average evidence, and the posterior mean of alpha, by adaptive quadrature.

    With alpha = t^(1/shape) the prior's peak at zero, if it has one, is flat in t.
    """

    def log_integrand(alpha):
        return evidence(alpha, counts) - rate * alpha + shape * np.log(rate) - gammaln(shape + 1)

    grid = np.exp(np.linspace(-40, 12, 1000))
    values = np.array([log_integrand(a) + shape * np.log(a) for a in grid])
    peak = values.max()
    alive = grid[values > peak - 60]
    edges = np.unique(np.concatenate([[0.0], np.quantile(alive, np.linspace(0, 1, 13))])) ** shape

    def over(function):
        parts = [
            integrate.quad(lambda t: function(max(t, 1e-300) ** (1 / shape)), a, b, epsrel=1e-11, limit=50)[0]
            for a, b in pairwise(edges)
        ]
        return sum(parts)

    whole = over(lambda a: np.exp(log_integrand(max(a, 1e-280)) - peak))
    mean = over(lambda a: a * np.exp(log_integrand(max(a, 1e-280)) - peak)) / whole
    return np.log(whole) + peak, mean


@every_counts
@every_gamma
def test_evidence_is_the_average_over_the_gamma_prior(counts, shape, rate):
    expected, mean = averages(process, counts, shape, rate)
    prior = LearnedConcentration(shape=shape, rate=rate)
    assert prior.evidence(counts) == pytest.approx(expected, rel=1e-9, abs=1e-6)
    assert prior.describe(counts)["concentration"] == pytest.approx(mean, rel=1e-5)


@pytest.mark.parametrize("name", ["one", "three", "equal", "holes"])
def test_evidence_of_a_finite_dirichlet_is_averaged_too(name):
    counts = COUNTS[name]
    expected, mean = averages(urn, counts, 2.0, 0.7)
    prior = LearnedConcentration(priors.FiniteDirichlet(n_components=400), shape=2.0, rate=0.7)
    assert prior.evidence(counts) == pytest.approx(expected, rel=1e-9)
    assert prior.describe(counts)["concentration"] == pytest.approx(mean, rel=1e-5)


def mean_field(counts, shape, rate):
    """Blei & Jordan (2006): q(alpha) = Gamma(s, r), independent of the sticks.

    E[log p(v_k | alpha)] = E[log alpha] + (E[alpha] - 1) E[log(1 - v_k)], so that each factor's optimum is
    q(v_k) = Beta(1 + N_k, E[alpha] + N_>k), q(alpha) = Gamma(shape + K, rate - sum_k E[log(1 - v_k)]).
    """
    n_clusters, s, r = len(counts), shape, rate
    behind = [sum(counts[k + 1 :]) for k in range(n_clusters)]
    for _ in range(3000):
        q = [(1 + n, s / r + m) for n, m in zip(counts, behind, strict=True)]
        log_rest = [digamma(b) - digamma(a + b) for a, b in q]
        s, past, r = shape + n_clusters, r, rate - sum(log_rest)
        if abs(r - past) < 1e-13 * r:
            break
    log_v = [digamma(a) - digamma(a + b) for a, b in q]
    log_alpha, alpha = digamma(s) - np.log(r), s / r
    bound = sum(n * a + m * b for n, m, a, b in zip(counts, behind, log_v, log_rest, strict=True))
    # E[log p(v | alpha)] - E[log q(v)] is minus the KL from Beta(1, 1), and what alpha adds.
    bound += sum(
        -dirichlet_divergence(q_k, (1.0, 1.0)) + log_alpha + (alpha - 1) * b for q_k, b in zip(q, log_rest, strict=True)
    )
    gamma_divergence = (
        (s - shape) * digamma(s) - gammaln(s) + gammaln(shape) + shape * np.log(r / rate) + s * (rate - r) / r
    )
    return bound - gamma_divergence


@every_counts
@every_gamma
def test_never_below_the_mean_field_bound(counts, shape, rate):
    held = counts[counts > 0]
    found = LearnedConcentration(shape=shape, rate=rate).evidence(held)
    # The sums are some 1e7 nats for the largest counts.
    assert found >= mean_field(held, shape, rate) - 1e-11 * abs(found)


@given(
    counts=st.lists(st.floats(0.01, 1e4), min_size=1, max_size=8).map(np.array),
    shape=st.floats(0.5, 10),
    rate=st.floats(0.05, 20),
)
def test_evidence_is_never_above_the_best_concentrations(counts, shape, rate):
    """An average is never above the largest of what it averages."""
    found = LearnedConcentration(shape=shape, rate=rate).evidence(counts)
    assert found <= max(process(a, counts) for a in np.exp(np.linspace(-25, 12, 400))) + 1e-6


@pytest.mark.parametrize("shape", [1e4, 1e5, 1e7])
def test_a_narrow_prior_knows_the_concentration(shape):
    """It differs from the known concentration's evidence by the evidence's curvature over the shape."""
    counts, prior = COUNTS["three"], LearnedConcentration(shape=shape, rate=shape / 1.5)
    assert prior.evidence(counts) == pytest.approx(process(1.5, counts), abs=5 / shape)
    assert prior.describe(counts)["concentration"] == pytest.approx(1.5, rel=10 / shape)


def test_more_clusters_of_the_same_rows_mean_a_larger_concentration():
    means = [LearnedConcentration().describe(np.full(k, 1200.0 / k))["concentration"] for k in (1, 2, 5, 20, 100)]
    assert means == sorted(means)
