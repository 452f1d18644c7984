"""Scikit-learn's BayesianGaussianMixture as a second opinion: the same model (full covariances), written by others."""

import numpy as np
import pytest
from sklearn.mixture import BayesianGaussianMixture

from stickbreak import DPMixture, families, priors
from stickbreak.core.kernels import Responsibilities
from stickbreak.core.mixture import Mixture
from stickbreak.core.workspace import Workspace
from textbook.members import bind, reals, some_responsibilities

N, K, D = 60, 4, 3
MEAN, KAPPA, NU, ALPHA = np.array([1.0, 0.0, 2.0]), 0.4, 5.5, 1.3
B = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, -0.2], [0.0, -0.2, 0.7]])


@pytest.fixture(params=["dirichlet_process", "dirichlet_distribution"])
def theirs(request):
    each = ALPHA if request.param == "dirichlet_process" else ALPHA / K
    return BayesianGaussianMixture(
        n_components=K,
        weight_concentration_prior_type=request.param,
        weight_concentration_prior=each,
        mean_prior=MEAN,
        mean_precision_prior=KAPPA,
        degrees_of_freedom_prior=NU,
        covariance_prior=B,
        reg_covar=0.0,
    )


@pytest.fixture
def X():
    return reals(N, D, seed=0)


def our_prior(theirs):
    if theirs.weight_concentration_prior_type == "dirichlet_process":
        return priors.DirichletProcess(ALPHA)
    return priors.FiniteDirichlet(n_components=K, concentration=ALPHA)


def test_one_lap_from_the_same_responsibilities(theirs, X):
    resp = some_responsibilities(N, K, seed=0)
    theirs._check_parameters(X)
    theirs._initialize(X, resp)
    family = bind(families.Gaussian(dof=NU, scatter=B, mean=MEAN, mean_strength=KAPPA), X)
    model = Mixture(family, our_prior(theirs))
    s = model.summarize_given(X, Responsibilities.from_dense(resp), np.arange(K), Workspace())
    told = family.describe(model.natural(s))
    np.testing.assert_allclose(s.counts + KAPPA, theirs.mean_precision_)
    np.testing.assert_allclose(s.counts + NU, theirs.degrees_of_freedom_)
    np.testing.assert_allclose(told["means"], theirs.means_)
    np.testing.assert_allclose(told["covariances"], theirs.covariances_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(
        model.prior.expected_log_weights(s.counts), np.ravel(theirs._estimate_log_weights()), rtol=1e-9
    )
    _, found, _ = model.assign(X, np.ones(N), model.posterior(s), K, Workspace())
    np.testing.assert_allclose(found.toarray(K), np.exp(theirs._e_step(X)[1]), rtol=1e-7, atol=1e-12)


def test_expected_weights_are_theirs_once_normalised(theirs, X):
    """They too share out what the sticks leave over, as `weights_` does here."""
    resp = np.eye(K)[np.sort(np.random.default_rng(0).integers(0, K, N))]
    theirs._check_parameters(X)
    theirs._initialize(X, resp)
    theirs._set_parameters(theirs._get_parameters())
    shares = our_prior(theirs).shares(resp.sum(axis=0))
    np.testing.assert_allclose(shares[:K] / shares[:K].sum(), theirs.weights_, rtol=1e-6)


def test_a_whole_fit_from_the_same_labels(X):
    labels = (X[:, 0] > X[:, 0].mean()).astype(int)
    theirs = BayesianGaussianMixture(
        n_components=2,
        weight_concentration_prior=ALPHA,
        mean_prior=MEAN,
        mean_precision_prior=KAPPA,
        degrees_of_freedom_prior=NU,
        covariance_prior=B,
        reg_covar=0.0,
    )
    # The same 30 laps: their initialisation is a global step, as ours is.
    theirs._check_parameters(X)
    theirs._initialize(X, np.eye(2)[labels])
    for _ in range(30):
        _, log_resp = theirs._e_step(X)
        theirs._m_step(X, log_resp)
    family = families.Gaussian(dof=NU, scatter=B, mean=MEAN, mean_strength=KAPPA)
    options = {"algorithm": "full", "init": labels, "moves": "none", "max_iter": 30, "tol": 0.0}
    ours = DPMixture(family, concentration=ALPHA, **options).fit(X)
    order = np.argsort(-theirs.mean_precision_)
    np.testing.assert_allclose(ours.means_, theirs.means_[order], rtol=1e-6)
    np.testing.assert_allclose(ours.covariances_, theirs.covariances_[order], rtol=1e-6, atol=1e-8)
