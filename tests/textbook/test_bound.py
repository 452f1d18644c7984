"""The library's bound is the paper's eq. (8) written out, and its two steps are eq. (9) and (10)."""

import numpy as np
import pytest

from stickbreak.core.kernels import Responsibilities
from stickbreak.core.mixture import Mixture
from stickbreak.core.workspace import Workspace
from textbook import longhand
from textbook.members import FAMILIES, PRIORS, some_responsibilities

N, K = 14, 4


def summary(member, prior, resp, weight):
    model = Mixture(member.family, prior)
    given = Responsibilities.from_dense(resp * weight[:, None])
    return model, model.summarize_given(member.rows, given, np.arange(resp.shape[1]), Workspace())


@pytest.fixture(params=FAMILIES)
def member(request):
    return FAMILIES[request.param](N, seed=3)


@pytest.mark.parametrize(("fast", "slow"), PRIORS.values(), ids=PRIORS)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_bound_is_the_papers(member, fast, slow, weighted):
    weight = np.random.default_rng(0).choice([0.5, 1.0, 2.0], N) if weighted else np.ones(N)
    resp = some_responsibilities(N, K, seed=1)
    model, s = summary(member, fast, resp, weight)
    expected = longhand.elbo(member.rows, resp, weight, member.twin, slow)
    assert model.bound(s) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("fast", "slow"), PRIORS.values(), ids=PRIORS)
def test_bound_at_is_the_papers_with_global_factors_from_elsewhere(member, fast, slow):
    ours, others = some_responsibilities(N, K, seed=1), some_responsibilities(N, K, seed=5)
    weight, scale = np.ones(N), np.full(N, 1.75)
    model, local = summary(member, fast, ours, weight)
    _, at = summary(member, fast, others, scale)
    factors = longhand.global_step(member.rows, others, scale, member.twin, slow)
    expected = longhand.elbo(member.rows, ours, weight, member.twin, slow, factors)
    assert model.bound_at(local, at) == pytest.approx(expected, rel=1e-9)
    assert model.bound_at(local, at) < model.bound(local)


def test_a_lap_is_the_papers_local_step(member):
    fast, slow = PRIORS["dirichlet-process"]
    resp = some_responsibilities(N, K, seed=1)
    model, s = summary(member, fast, resp, np.ones(N))
    _, found, entropy = model.assign(member.rows, np.ones(N), model.posterior(s), K, Workspace())
    factors = longhand.global_step(member.rows, resp, np.ones(N), member.twin, slow)
    expected = longhand.local_step(member.rows, member.twin, slow, factors)
    np.testing.assert_allclose(found.toarray(K), expected, rtol=1e-8, atol=1e-14)
    np.testing.assert_allclose(entropy, -np.sum(expected * np.log(expected), axis=0), atol=1e-10)


def test_many_laps_are_the_papers(member):
    """Ten laps of both, from the same start, go the same way and rise."""
    fast, slow = PRIORS["dirichlet-process"]
    resp, weight = some_responsibilities(N, K, seed=1), np.ones(N)
    model, s = summary(member, fast, resp, weight)
    past = -np.inf
    for _ in range(10):
        resp = longhand.local_step(
            member.rows, member.twin, slow, longhand.global_step(member.rows, resp, weight, member.twin, slow)
        )
        s = model.summarize(member.rows, weight, model.posterior(s), K, Workspace())
        assert model.bound(s) == pytest.approx(longhand.elbo(member.rows, resp, weight, member.twin, slow), rel=1e-8)
        assert model.bound(s) >= past - 1e-9 * abs(past)
        past = model.bound(s)


def test_predictive_density_of_the_mixture_is_a_mixture_of_predictives(member):
    """Shares by hand: sticks are independent, so E[w_k] = E[v_k] prod E[1 - v_l]; the leftover goes to the prior."""
    fast, slow = PRIORS["pitman-yor"]
    resp = some_responsibilities(N, K, seed=1)
    model, s = summary(member, fast, resp, np.ones(N))
    q_phi, q_v = longhand.global_step(member.rows, resp, np.ones(N), member.twin, slow)
    for x, found in zip(member.rows, model.log_density(member.rows, s), strict=True):
        density, rest = 0.0, 1.0
        for q, (a, b) in zip(q_phi, q_v, strict=True):
            density += rest * a / (a + b) * np.exp(member.twin.predictive(x, q))
            rest *= b / (a + b)
        density += rest * np.exp(member.twin.predictive(x, member.twin.posterior(member.rows[:0], [])))
        assert found == pytest.approx(np.log(density), abs=1e-8)
