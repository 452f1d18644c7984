"""Gaussians of many columns skip work that can't matter: what they do compute is what the plain way computes."""

import numpy as np
import pytest

from stickbreak import families
from stickbreak.core.kernels import SUPPORT, Responsibilities
from stickbreak.core.mixture import Mixture
from stickbreak.core.workspace import Workspace
from stickbreak.families import gaussian
from stickbreak.priors import DirichletProcess
from textbook.members import bind, some_responsibilities

K, N = 5, 120
KINDS = {"gaussian": families.Gaussian, "zero-mean": families.ZeroMeanGaussian}


def rows(d, apart, seed=0):
    """Rows of K groups that differ in place, direction and spread, some columns more telling than others."""
    rng = np.random.default_rng(seed)
    z = np.sort(rng.integers(0, K, N))
    mix = np.eye(d) + 0.3 * rng.standard_normal((K, d, d)) / np.sqrt(d)
    spread = np.exp(0.4 * rng.standard_normal((K, d)) * apart)
    centres = apart * rng.standard_normal((K, d)) * (rng.random(d) < 0.2)
    return centres[z] + np.einsum("nd,nde->ne", rng.standard_normal((N, d)) * spread[z], mix[z]), z


def setting(kind, d, apart, *, soft=False):
    X, z = rows(d, apart)
    model = Mixture(bind(KINDS[kind](), X), DirichletProcess())
    r = some_responsibilities(N, K, seed=1) if soft else np.eye(K)[z]
    s = model.summarize_given(X, Responsibilities.from_dense(r), np.arange(K), Workspace())
    return X, model, s


def scored(model, X, s):
    posterior = model.posterior(s)
    space = Workspace()
    scores = model.family.scores(posterior.scorer, model.family.encode(X, space), posterior.log_weights, space)
    return scores.copy(), model.summarize(X, np.ones(len(X)), posterior, K, Workspace())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [65, 80])
@pytest.mark.parametrize("apart", [0.0, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("soft", [False, True], ids=["", "soft"])
def test_scores_are_the_packed_ones_or_too_low_to_matter(monkeypatch, kind, d, apart, soft):
    X, model, s = setting(kind, d, apart, soft=soft)
    found, summary = scored(model, X, s)
    monkeypatch.setattr(gaussian, "PACKED_LIMIT", 1000)
    plain, expected = scored(model, X, s)
    done = np.isfinite(found)
    np.testing.assert_allclose(found[done], plain[done], rtol=1e-9, atol=1e-7)
    assert np.all(done.any(axis=1))
    assert np.all((plain.max(axis=1, keepdims=True) - plain)[~done] >= SUPPORT - 1e-7)
    if apart == 4.0 and not soft:
        assert not done.all()
    np.testing.assert_allclose(summary.stats, expected.stats, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(summary.entropy, expected.entropy, atol=1e-7)
    assert model.bound(summary) == pytest.approx(model.bound(expected), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [64, 65])
def test_laws_of_families_hold_on_both_sides_of_the_limit(kind, d):
    X, model, s = setting(kind, d, 0.5, soft=True)
    f, lam = model.family, model.natural(s)
    found = f.expected_natural(lam)
    rng = np.random.default_rng(0)
    for _ in range(4):
        way = 1e-4 * rng.standard_normal(lam.shape)
        way[:, 0] = np.abs(way[:, 0])
        slope = (f.log_normalizer(lam + way) - f.log_normalizer(lam - way)) / 2
        np.testing.assert_allclose(np.sum(found * way, axis=1), slope, rtol=1e-5, atol=1e-7)
    plain = f.log_normalizer(lam[0] + f.stats(X[:5])) - f.log_normalizer(lam[:1]) + f.log_base(X[:5])
    np.testing.assert_allclose(f.predictive(X[:5], lam[:1])[:, 0], plain, rtol=1e-8, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_sums_of_many_columns_are_the_plain_sums(kind):
    X, model, _ = setting(kind, 70, 1.0)
    weight = np.random.default_rng(0).integers(1, 3, N).astype(float)
    r = some_responsibilities(N, K, seed=3) * weight[:, None]
    r[:, 3] = 0.0
    r[0] = 0.0
    s = model.summarize_given(X, Responsibilities.from_dense(r), np.arange(K), Workspace())
    np.testing.assert_allclose(s.stats, r.T @ model.family.stats(X), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_never_falls_with_many_columns(kind):
    X, model, s = setting(kind, 66, 0.3, soft=True)
    past = -np.inf
    for _ in range(12):
        s = model.summarize(X, np.ones(N), model.posterior(s), K, Workspace()).by_size()
        assert model.bound(s) >= past - 1e-9 * abs(past)
        past = model.bound(s)


@pytest.mark.parametrize("kind", KINDS)
def test_a_flat_column_and_equal_rows(kind):
    """Columns that never vary, and clusters of one row many times, have no spread but the prior's."""
    X = np.repeat(rows(66, 1.0)[0][:6], 10, axis=0)
    X[:, :30] = 3.0
    model = Mixture(bind(KINDS[kind](), X), DirichletProcess())
    given = Responsibilities.from_dense(np.eye(6)[np.repeat(np.arange(6), 10)])
    s = model.summarize_given(X, given, np.arange(6), Workspace())
    again = model.summarize(X, np.ones(60), model.posterior(s), 6, Workspace())
    np.testing.assert_allclose(again.counts.sum(), 60)
    assert np.isfinite(model.bound(again))
    assert model.bound(again) >= model.bound(s) - 1e-9 * abs(model.bound(s))
