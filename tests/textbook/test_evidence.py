"""On a few rows the log evidence can be summed exactly: the bound must stay below it, and near it.

Where groups are far apart, what a factorised q loses is that it names the clusters: of all the ways to number the
groups it can hold one. The loss is then about ``log P(partition) - log P(labels)``, a nat or so for sticks and ``log
n! / (n - K)!`` for a finite Dirichlet.
"""

import numpy as np
import pytest
from scipy import integrate
from scipy.special import betaln, logsumexp

from stickbreak import families, priors
from stickbreak.core.kernels import Responsibilities
from stickbreak.core.mixture import Mixture
from stickbreak.core.workspace import Workspace
from textbook import partitions as exact
from textbook.count_families import Bernoulli, Multinomial, Poisson
from textbook.members import FAMILIES, bind
from textbook.wishart_families import NormalWishart, Wishart

SHARES = {
    "dirichlet-process": (priors.DirichletProcess(0.7), exact.chinese_restaurant(0.7)),
    "pitman-yor": (priors.PitmanYor(discount=0.3, concentration=0.5), exact.two_parameter(0.3, 0.5)),
    "pitman-yor-below-zero": (priors.PitmanYor(discount=0.5, concentration=-0.2), exact.two_parameter(0.5, -0.2)),
    "finite": (priors.FiniteDirichlet(n_components=4, concentration=1.5), exact.finite_urn(4, 1.5)),
}


def starts(n, most):
    """Responsibilities of every way to divide the rows into at most so many clusters, the largest first."""
    for blocks in exact.partitions(list(range(n))):
        if len(blocks) <= most:
            resp = np.zeros((n, most))
            for k, block in enumerate(sorted(blocks, key=len, reverse=True)):
                resp[block, k] = 1.0
            yield resp


def best_bound(model, X, most=3, laps=60):
    """The best bound that full inference reaches from any start."""
    best = -np.inf
    for resp in starts(len(X), most):
        s = model.summarize_given(X, Responsibilities.from_dense(resp), np.arange(most), Workspace())
        past = model.bound(s)
        for _ in range(laps):
            s = model.summarize(X, np.ones(len(X)), model.posterior(s), most, Workspace()).by_size()
            if model.bound(s) - past < 1e-7:
                break
            past = model.bound(s)
        best = max(best, model.bound(s))
    return best


def check(model, X, log_evidence, slack=0.0):
    """Naming two groups costs up to 1.5 nats by sticks and log 12 of four shares; `slack` is for overlap."""
    found = best_bound(model, X)
    most = np.log(12) + 0.01 if isinstance(model.prior, priors.FiniteDirichlet) else 1.5
    gap = log_evidence - found
    assert log_evidence - most - slack <= found <= log_evidence + 1e-9, f"gap {gap:.3f}"


def test_partition_probabilities_add_up_to_one():
    for log_probability in [probability for _, probability in SHARES.values()]:
        terms = [log_probability([len(b) for b in blocks]) for blocks in exact.partitions(list(range(6)))]
        assert logsumexp(terms) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("prior", "log_probability"), SHARES.values(), ids=SHARES)
def test_gaussian_groups_far_apart(prior, log_probability):
    X = np.array([[0.0, 0.1], [0.2, -0.1], [-0.1, 0.0], [30.0, 30.2], [30.1, 29.9]])
    free = families.Gaussian(dof=6.0, scatter=0.2, mean=0.0, mean_strength=0.001)
    twin = NormalWishart([0.0, 0.0], 0.001, 6.0, 0.2 * np.eye(2))
    check(Mixture(bind(free, X), prior), X, exact.log_evidence(X, twin, log_probability))


@pytest.mark.parametrize(("prior", "log_probability"), SHARES.values(), ids=SHARES)
def test_zero_mean_narrow_and_wide(prior, log_probability):
    X = np.array([[0.01], [-0.02], [0.015], [900.0], [-1100.0]])
    twin = Wishart(3.0, np.array([[0.001]]))
    model = Mixture(bind(families.ZeroMeanGaussian(dof=3.0, scatter=0.001), X), prior)
    check(model, X, exact.log_evidence(X, twin, log_probability), slack=1.1)


@pytest.mark.parametrize(("prior", "log_probability"), SHARES.values(), ids=SHARES)
def test_counts_of_two_kinds(prior, log_probability):
    X = np.array([[9.0, 0.0, 0.0], [7.0, 1.0, 0.0], [12.0, 0.0, 1.0], [0.0, 0.0, 20.0], [0.0, 1.0, 30.0]])
    twin = Multinomial(0.3, 3)
    model = Mixture(bind(families.Multinomial(0.3), X), prior)
    check(model, X, exact.log_evidence(X, twin, log_probability), slack=0.7)


@pytest.mark.parametrize(("prior", "log_probability"), SHARES.values(), ids=SHARES)
def test_low_and_high_rates(prior, log_probability):
    X = np.array([[0.0, 90.0], [1.0, 110.0], [100.0, 0.0], [80.0, 1.0], [95.0, 0.0]])
    twin = Poisson(1.0, 0.05, 2)
    model = Mixture(bind(families.Poisson(shape=1.0, rate=0.05), X), prior)
    check(model, X, exact.log_evidence(X, twin, log_probability))


def test_flags_with_holes():
    X = np.repeat([[1.0, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0]], [3, 2], axis=0)
    X[0, 2] = X[3, 5] = np.nan
    twin = Bernoulli(0.1, 0.1, 6)
    model = Mixture(bind(families.Bernoulli(a=0.1, b=0.1), X), priors.DirichletProcess(0.7))
    check(model, X, exact.log_evidence(X, twin, exact.chinese_restaurant(0.7)))


@pytest.mark.parametrize("name", FAMILIES)
def test_bound_of_certain_assignments_is_their_log_probability(name):
    """With every row's cluster certain, q of the rest is the exact posterior: the bound is log p(X, z)."""
    member = FAMILIES[name](6, seed=2)
    z = np.array([0, 1, 0, 2, 0, 1])
    model = Mixture(member.family, priors.DirichletProcess(1.4))
    given = Responsibilities.from_dense(np.eye(3)[z])
    s = model.summarize_given(member.rows, given, np.arange(3), Workspace())
    counts = np.bincount(z)
    log_labels = sum(betaln(1 + counts[k], 1.4 + counts[k + 1 :].sum()) - betaln(1, 1.4) for k in range(3))
    log_rows = sum(exact.log_marginal(member.rows[z == k], member.twin) for k in range(3))
    assert model.bound(s) == pytest.approx(log_labels + log_rows, rel=1e-10)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(("prior", "log_probability"), SHARES.values(), ids=SHARES)
def test_never_above_for_rows_without_clear_groups(name, prior, log_probability):
    member = FAMILIES[name](5, seed=11)
    found = best_bound(Mixture(member.family, prior), member.rows, laps=20)
    assert found <= exact.log_evidence(member.rows, member.twin, log_probability) + 1e-9


@pytest.mark.parametrize("n_clusters", [1, 2])
def test_learned_concentration(n_clusters):
    """The evidence, averaged over the gamma prior by quadrature."""
    X = np.array([[0.0], [0.2], [-0.1], [30.0 * (n_clusters - 1)]])
    twin = NormalWishart([0.0], 0.001, 4.0, np.array([[0.2]]))
    model = Mixture(
        bind(families.Gaussian(dof=4.0, scatter=0.2, mean=0.0, mean_strength=0.001), X),
        priors.LearnedConcentration(shape=2.0, rate=3.0),
    )

    def integrand(alpha):
        log_prior = 2 * np.log(3.0) + np.log(alpha) - 3 * alpha
        return np.exp(log_prior + exact.log_evidence(X, twin, exact.chinese_restaurant(alpha)))

    whole, _ = integrate.quad(integrand, 0, 12, epsrel=1e-6, epsabs=0, limit=30)
    check(model, X, np.log(whole))
