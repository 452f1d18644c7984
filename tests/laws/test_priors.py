"""Laws that every allocation prior keeps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from stickbreak import priors
from stickbreak.errors import OptionError
from textbook.members import ALL_PRIORS, PRIORS

COUNTS = {
    "plain": np.array([5.0, 3.2, 0.7]),
    "one": np.array([4.0]),
    "tiny": np.array([2.0, 1e-12, 1e-3]),
    "unsorted": np.array([0.5, 40.0, 2.0, 7.0]),
    "large": np.array([3e5, 2e4, 10.0]),
}
DRAWS = 100_000

every_prior = pytest.mark.parametrize("prior", ALL_PRIORS.values(), ids=ALL_PRIORS)
every_counts = pytest.mark.parametrize("counts", COUNTS.values(), ids=COUNTS)
in_closed_form = pytest.mark.parametrize(("prior", "slow"), PRIORS.values(), ids=PRIORS)


def draw_weights(slow, q, rng, n_clusters):
    """Draw the shares of the first clusters from a factor of the textbook's."""
    if hasattr(slow, "parameters"):
        v = np.stack([rng.beta(a, b, DRAWS) for a, b in q], axis=1)
        rest = np.cumprod(1 - v, axis=1)
        return v * np.column_stack([np.ones(DRAWS), rest[:, :-1]])
    return rng.dirichlet(q, DRAWS)[:, :n_clusters]


@in_closed_form
@pytest.mark.parametrize("counts", [COUNTS["plain"], COUNTS["unsorted"]])
def test_expectations_are_those_of_draws(prior, slow, counts):
    w = draw_weights(slow, slow.posterior(counts), np.random.default_rng(0), len(counts))
    log_w = np.log(w)
    error = log_w.std(axis=0) / np.sqrt(DRAWS)
    assert np.all(np.abs(log_w.mean(axis=0) - prior.expected_log_weights(counts)) < 5 * error)
    shares = prior.shares(counts)
    assert np.all(np.abs(w.mean(axis=0) - shares[:-1]) < 5 * w.std(axis=0) / np.sqrt(DRAWS))
    assert abs(1 - w.sum(axis=1).mean() - shares[-1]) < 5 * w.sum(axis=1).std() / np.sqrt(DRAWS) + 1e-12


@in_closed_form
def test_evidence_is_that_of_draws(prior, slow):
    """The integral over w of p(w) prod w_k^N_k, with w drawn from the prior."""
    counts = np.array([2.0, 1.3, 0.6])
    w = draw_weights(slow, slow.posterior(np.zeros(3)), np.random.default_rng(0), 3)
    values = np.prod(w**counts, axis=1)
    error = values.std() / np.sqrt(DRAWS) / values.mean()
    assert abs(np.log(values.mean()) - prior.evidence(counts)) < 5 * error


@in_closed_form
@every_counts
def test_evidence_and_expectations_are_the_textbooks(prior, slow, counts):
    q = slow.posterior(counts)
    log_w = slow.expected_log_weights(q)[: len(counts)]
    np.testing.assert_allclose(prior.expected_log_weights(counts), log_w, rtol=1e-9)
    assert prior.evidence(counts) == pytest.approx(counts @ log_w - slow.divergence(q), rel=1e-8)


@every_prior
def test_evidence_is_the_chain_of_predictive_shares(prior):
    """p(z) = prod p(z_n | z_<n): row by row, the cluster that comes next has its expected share."""
    z = [0, 1, 0, 0, 2, 1, 0, 3]
    counts, chain = np.zeros(4), 0.0
    for k in z:
        chain += np.log(prior.shares(counts)[k])
        counts[k] += 1
    assert prior.evidence(counts) == pytest.approx(chain, rel=1e-9)


@every_prior
def test_labels_of_few_rows_add_up_to_one(prior):
    """All the ways in which two rows can be labelled, unseen labels included."""
    first, second = prior.shares(np.zeros(3)), prior.shares(np.array([1.0, 0.0, 0.0]))
    assert first.sum() == pytest.approx(1)
    pair = [prior.evidence(np.bincount([a, b], minlength=3).astype(float)) for a in range(3) for b in range(3)]
    beyond = first[-1] + np.exp(
        logsumexp([prior.evidence(np.eye(3)[a]) + np.log(prior.shares(np.eye(3)[a])[-1]) for a in range(3)])
    )
    assert np.exp(logsumexp(pair)) + beyond == pytest.approx(1)
    assert np.exp(pair[0]) == pytest.approx(first[0] * second[0])


@every_prior
@every_counts
def test_shares_are_a_distribution(prior, counts):
    shares = prior.shares(counts)
    assert shares.shape == (len(counts) + 1,)
    assert np.all(shares >= 0)
    assert shares.sum() == pytest.approx(1, abs=1e-12)
    # Jensen's inequality.
    assert np.all(prior.expected_log_weights(counts) <= np.log(shares[:-1]) + 1e-12)


@every_prior
@pytest.mark.parametrize("name", ["plain", "unsorted", "large"])
def test_expected_log_weights_are_the_gradient_of_evidence(prior, name):
    counts = COUNTS[name]
    found = prior.expected_log_weights(counts)
    for k in range(len(counts)):
        step = np.zeros(len(counts))
        step[k] = 1e-4 * counts[k]
        slope = (prior.evidence(counts + step) - prior.evidence(counts - step)) / (2 * step[k])
        assert found[k] == pytest.approx(slope, rel=1e-4, abs=1e-7)


@every_prior
@every_counts
def test_evidence_is_convex_in_counts(prior, counts):
    """A maximum of functions linear in the counts: what makes `Mixture.bound_at` a bound."""
    other = counts[::-1] * 1.7 + 0.3
    tangent = prior.evidence(counts) + prior.expected_log_weights(counts) @ (other - counts)
    assert prior.evidence(other) >= tangent - 1e-9 * abs(tangent)


@every_prior
@every_counts
def test_empty_clusters_leave_the_evidence_as_it_was(prior, counts):
    wider = np.append(counts, np.zeros(3))
    assert prior.evidence(wider) == pytest.approx(prior.evidence(counts), rel=1e-12, abs=1e-12)
    shares = prior.shares(wider)
    np.testing.assert_allclose(shares[: len(counts)], prior.shares(counts)[:-1], rtol=1e-10)
    assert shares[len(counts) :].sum() == pytest.approx(prior.shares(counts)[-1], rel=1e-9)
    log_w = prior.expected_log_weights(wider)
    np.testing.assert_allclose(log_w[: len(counts)], prior.expected_log_weights(counts), rtol=1e-10)


@every_prior
def test_no_rows_have_no_evidence(prior):
    assert prior.evidence(np.zeros(4)) == pytest.approx(0, abs=1e-9)


MASS = st.one_of(st.just(0.0), st.floats(1e-6, 1e4), st.integers(0, 30).map(float))


@every_prior
@given(counts=st.lists(MASS, min_size=2, max_size=7).map(np.array))
def test_the_largest_first_never_lowers_the_evidence(prior, counts):
    ordered = prior.evidence(np.sort(counts)[::-1])
    assert ordered >= prior.evidence(counts) - 1e-10 * (1 + abs(ordered))


def test_special_cases_agree():
    counts, dp = COUNTS["unsorted"], priors.DirichletProcess(0.8)
    for same in (priors.BetaSticks(first=1.0, concentration=0.8), priors.PitmanYor(discount=0.0, concentration=0.8)):
        assert same.evidence(counts) == pytest.approx(dp.evidence(counts), rel=1e-13)
        np.testing.assert_allclose(same.expected_log_weights(counts), dp.expected_log_weights(counts))
        np.testing.assert_allclose(same.shares(counts), dp.shares(counts))


def test_finite_shares_are_the_urns():
    counts, prior = np.array([4.0, 1.0, 0.0]), priors.FiniteDirichlet(n_components=5, concentration=2.0)
    np.testing.assert_allclose(prior.shares(counts), [4.4 / 7, 1.4 / 7, 0.4 / 7, 0.8 / 7])
    with pytest.raises(OptionError, match="5"):
        prior.evidence(np.ones(6))


def test_a_finite_dirichlet_of_many_clusters_is_a_dirichlet_process_of_unnamed_ones():
    """Names apart, n! / (n - K)! ways, the Dirichlet-multinomial tends to Ewens' formula."""
    counts, n, alpha = np.array([3.0, 2.0, 1.0]), 10**7, 1.3
    finite = priors.FiniteDirichlet(n_components=n, concentration=alpha).evidence(counts) + 3 * np.log(n)
    ewens = 3 * np.log(alpha) + np.log(2.0) - np.log(np.prod(alpha + np.arange(6)))
    assert finite == pytest.approx(ewens, abs=1e-5)


@every_prior
def test_counts_of_billions_are_no_trouble(prior):
    counts = np.array([4e9, 1e9, 2.0])
    assert np.isfinite(prior.evidence(counts))
    np.testing.assert_allclose(prior.shares(counts)[:2], [0.8, 0.2], rtol=1e-6)
    assert np.all(np.isfinite(prior.expected_log_weights(counts)))
