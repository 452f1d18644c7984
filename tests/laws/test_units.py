"""Nothing depends on where the origin is or what units columns are measured in."""

import numpy as np
import pytest

from stickbreak import DPMixture, families
from stickbreak.core.kernels import Responsibilities
from stickbreak.core.mixture import Mixture
from stickbreak.core.workspace import Workspace
from stickbreak.priors import DirichletProcess
from textbook.members import bind

FAR = 1e6


def groups(seed=0, n=150, d=3, apart=4.0):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, n)
    return rng.standard_normal((n, d)) * [1.0, 0.5, 2.0][:d] + apart * rng.standard_normal((3, d))[z], z


def with_holes(X):
    out = X.copy()
    out[::7, 1] = np.nan
    return out


MAKERS = {
    "gaussian": (families.Gaussian, lambda X: X),
    "diagonal": (families.DiagonalGaussian, with_holes),
    "product": (
        lambda: families.Product([((0, 2), families.Gaussian()), ((1,), families.DiagonalGaussian())]),
        with_holes,
    ),
}


@pytest.mark.parametrize("name", MAKERS)
def test_rows_far_from_zero_are_treated_as_rows_near_it(name):
    make, change = MAKERS[name]
    near, z = groups()
    far = near + FAR
    near = far - FAR  # What is left after rounding: exactly the same rows, moved.
    bounds, resps = [], []
    for X in (change(near), change(far)):
        model = Mixture(bind(make(), X), DirichletProcess())
        first = Responsibilities.from_dense(np.eye(4)[(z + (X[:, 0] > X[5, 0])) % 4])
        s = model.summarize_given(X, first, np.arange(4), Workspace())
        for _ in range(15):
            _, resp, _ = model.assign(X, np.ones(len(X)), model.posterior(s), 4, Workspace())
            s = model.summarize(X, np.ones(len(X)), model.posterior(s), 4, Workspace())
        bounds.append(model.bound(s))
        resps.append(resp.toarray(4))
    assert bounds[1] == pytest.approx(bounds[0], abs=1e-6 * len(near))
    np.testing.assert_allclose(resps[1], resps[0], atol=1e-6)


STARTS = pytest.mark.parametrize("start", ["labels", "k-means++", "random"])
"""Given labels test the algorithm alone; the others also that seeds are drawn alike."""


def beginning(start, n):
    return np.random.default_rng(3).integers(0, 6, n) if start == "labels" else start


def fitted(family, X, start):
    return DPMixture(family, n_components=6, init=beginning(start, len(X)), random_state=1, max_iter=40, tol=0).fit(X)


@STARTS
@pytest.mark.parametrize("family", ["gaussian", "diagonal-gaussian"])
def test_fits_far_from_zero_find_the_same_clusters(family, start):
    near, _ = groups()
    far = near + FAR
    near = far - FAR
    a, b = (fitted(family, X, start) for X in (near, far))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert b.elbo_ == pytest.approx(a.elbo_, abs=1e-6 * len(near))
    np.testing.assert_allclose(b.means_ - FAR, a.means_, atol=1e-6)
    np.testing.assert_allclose(b.score_samples(far), a.score_samples(near), atol=1e-5)


def test_a_cluster_far_from_the_others_keeps_its_shape():
    """Moving to the data's mean doesn't help it: its distance over its spread is 1e4."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((50, 2)), rng.standard_normal((50, 2)) + 1e4])
    family = families.Gaussian(scatter=1.0, mean=0.0)
    model = Mixture(bind(family, X), DirichletProcess())
    given = Responsibilities.from_dense(np.eye(2)[np.repeat([0, 1], 50)])
    s = model.summarize_given(X, given, np.arange(2), Workspace())
    m = X[50:].mean(axis=0)
    b = np.eye(2) + (X[50:] - m).T @ (X[50:] - m) + 50 * 0.01 / 50.01 * np.outer(m, m)
    told = model.family.describe(model.natural(s))
    np.testing.assert_allclose(told["covariances"][1], b / 54, rtol=1e-7)


@STARTS
@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize("factor", [1000.0, 1e-5])
@pytest.mark.parametrize("family", ["gaussian", "zero-mean-gaussian", "diagonal-gaussian"])
def test_units_of_a_column_change_no_assignment(family, factor, column, start):
    X, _ = groups()
    if family == "zero-mean-gaussian":
        X = X - X.mean(axis=0)
    scale = np.where(np.arange(3) == column, factor, 1.0)
    a, b = (fitted(family, x, start) for x in (X, X * scale))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert b.elbo_ + len(X) * np.log(factor) == pytest.approx(a.elbo_, rel=1e-8)


@pytest.mark.parametrize("family", ["gaussian", "diagonal-gaussian"])
def test_a_column_that_never_varies_changes_no_assignment_by_its_value(family):
    X, _ = groups()
    fits = []
    for value in (0.0, 0.1, 1e6 / 3):
        Z = np.column_stack([X, np.full(len(X), value)])
        fits.append(DPMixture(family, n_components=6, random_state=1, max_iter=40, tol=0).fit(Z))
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0].labels_, other.labels_)
        assert other.elbo_ == pytest.approx(fits[0].elbo_, rel=1e-8)


def test_default_priors_are_as_documented():
    X, _ = groups()
    d, variance = X.shape[1], X.var(axis=0)
    kinds = (families.Gaussian, families.ZeroMeanGaussian, families.DiagonalGaussian)
    full, zero, diagonal = (bind(f(), X) for f in kinds)
    assert full.dof == zero.dof == d + 2
    np.testing.assert_allclose(full.scatter, np.diag(0.1 * variance))
    np.testing.assert_allclose(zero.scatter, np.diag(0.1 * (X**2).mean(axis=0)))
    np.testing.assert_allclose(diagonal.scatter, 0.1 * variance)
    for family in (full, diagonal):
        np.testing.assert_allclose(family.mean, X.mean(axis=0))
    counts = np.random.default_rng(0).poisson([2.0, 5.0], (30, 2)).astype(float)
    poisson = bind(families.Poisson(shape=2.0), counts)
    np.testing.assert_allclose(poisson.shape / poisson.rate, counts.mean(axis=0))


@STARTS
@pytest.mark.parametrize("family", ["gaussian", "diagonal-gaussian"])
def test_single_precision_data_are_fitted_as_their_double_copies(family, start):
    X = (groups()[0] + 50).astype(np.float32)
    a, b = (fitted(family, x, start) for x in (X, X.astype(float)))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert a.elbo_ == pytest.approx(b.elbo_, rel=1e-10)
    assert a.means_.dtype == np.float64
