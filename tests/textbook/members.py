"""All families and all priors, each beside its slow twin, for tests that hold for every member."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stickbreak import families, priors
from stickbreak.data import open_source
from stickbreak.data.profile import profile
from textbook import count_families as counts
from textbook import longhand
from textbook import wishart_families as normals

SCATTER = np.array([[1.3, 0.4, -0.2], [0.4, 0.9, 0.1], [-0.2, 0.1, 2.0]])


def bind(family, X, weight=None):
    """Bind a family to data as an estimator does."""
    seen = profile(open_source(X), weight)
    family.check(seen)
    return family.bind(seen)


@dataclass(frozen=True)
class Member:
    """Rows, a family bound to them, and the same family written slowly."""

    rows: Any
    family: Any
    twin: Any


def reals(n, d, seed):
    """Rows of two groups some distance from the origin."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) + 2.5 * rng.integers(0, 2, (n, 1)) + np.arange(d)


def with_holes(X, seed, share=0.15):
    """Take some cells away, but no column's first two."""
    holes = np.random.default_rng(seed + 1).random(X.shape) < share
    holes[:2] = False
    return np.where(holes, np.nan, X)


def codes(n, levels, seed):
    """Random categories, each column's largest in the first row."""
    rng = np.random.default_rng(seed)
    X = np.stack([rng.integers(0, m, n) for m in levels], axis=1).astype(float)
    X[0] = np.array(levels) - 1
    return X


def gaussian(n, seed):
    X, m = reals(n, 3, seed), np.array([0.5, 1.0, 1.5])
    free = families.Gaussian(dof=4.5, scatter=SCATTER, mean=m, mean_strength=0.3)
    return Member(X, bind(free, X), normals.NormalWishart(m, 0.3, 4.5, SCATTER))


def gaussian_line(n, seed):
    X = reals(n, 1, seed)
    free = families.Gaussian(dof=0.7, scatter=0.6, mean=-1.0, mean_strength=2.0)
    return Member(X, bind(free, X), normals.NormalWishart([-1.0], 2.0, 0.7, np.array([[0.6]])))


def zero_mean(n, seed):
    X = reals(n, 3, seed)
    free = families.ZeroMeanGaussian(dof=3.5, scatter=SCATTER)
    return Member(X, bind(free, X), normals.Wishart(3.5, SCATTER))


def diagonal(n, seed):
    X = with_holes(reals(n, 3, seed), seed)
    m, kappa, nu, b = (
        np.array([0.5, 1.0, 1.5]),
        np.array([0.3, 1.0, 2.0]),
        np.array([3.0, 0.8, 5.0]),
        np.array([1.0, 2.0, 0.5]),
    )
    free = families.DiagonalGaussian(dof=nu, scatter=b, mean=m, mean_strength=kappa)
    return Member(X, bind(free, X), normals.NormalGammas(m, kappa, nu, b))


def multinomial(n, seed):
    X = np.random.default_rng(seed).poisson([3.0, 0.5, 1.0, 0.2], (n, 4)).astype(float)
    X[0] += 1
    prior = np.array([0.3, 1.0, 0.1, 2.0])
    return Member(X, bind(families.Multinomial(prior), X), counts.Multinomial(prior, 4))


def categorical(n, seed):
    X = with_holes(codes(n, (2, 4, 3), seed), seed)
    return Member(X, bind(families.Categorical(concentration=0.7), X), counts.Categorical(0.7, (2, 4, 3)))


def bernoulli(n, seed):
    X = with_holes(codes(n, (2, 2, 2), seed), seed)
    return Member(X, bind(families.Bernoulli(a=0.4, b=1.2), X), counts.Bernoulli(0.4, 1.2, 3))


def poisson(n, seed):
    X = with_holes(np.random.default_rng(seed).poisson([2.0, 9.0, 0.4], (n, 3)).astype(float), seed)
    return Member(X, bind(families.Poisson(shape=1.7, rate=0.6), X), counts.Poisson(1.7, 0.6, 3))


def product(n, seed):
    X = np.column_stack([codes(n, (3,), seed), reals(n, 2, seed), with_holes(codes(n, (5,), seed + 1), seed)])
    b = SCATTER[:2, :2]
    gauss = families.Gaussian(dof=3.0, scatter=b, mean=0.0, mean_strength=0.2)
    parts = [((2, 1), gauss), ((0,), families.Categorical(0.5)), ((3,), families.Poisson(shape=2.0, rate=1.0))]
    slow = [
        ((2, 1), normals.NormalWishart([0.0, 0.0], 0.2, 3.0, b)),
        ((0,), counts.Categorical(0.5, (3,))),
        ((3,), counts.Poisson(2.0, 1.0, 1)),
    ]
    return Member(X, bind(families.Product(parts), X), counts.Product(slow))


FAMILIES = {
    "gaussian": gaussian,
    "gaussian-line": gaussian_line,
    "zero-mean": zero_mean,
    "diagonal": diagonal,
    "multinomial": multinomial,
    "categorical": categorical,
    "bernoulli": bernoulli,
    "poisson": poisson,
    "product": product,
}
"""Functions of a number of rows and a seed."""

MISSING = ("diagonal", "categorical", "bernoulli", "poisson", "product")
"""Those whose rows have holes."""

PRIORS = {
    "dirichlet-process": (priors.DirichletProcess(1.7), longhand.dirichlet_process(1.7)),
    "beta-sticks": (priors.BetaSticks(first=2.5, concentration=0.6), longhand.beta_sticks(2.5, 0.6)),
    "pitman-yor": (priors.PitmanYor(discount=0.4, concentration=0.8), longhand.pitman_yor(0.4, 0.8)),
    "pitman-yor-below-zero": (priors.PitmanYor(discount=0.4, concentration=-0.2), longhand.pitman_yor(0.4, -0.2)),
    "finite": (priors.FiniteDirichlet(n_components=7, concentration=2.0), longhand.FiniteShares(7, 2.0)),
}
"""Those whose factors are known in closed form, with their slow twins."""

LEARNED = {
    "learned-dp": priors.LearnedConcentration(),
    "learned-sticks": priors.LearnedConcentration(priors.BetaSticks(first=1.5), shape=2.0, rate=0.5),
    "learned-py": priors.LearnedConcentration(priors.PitmanYor(discount=0.3), shape=1.0, rate=3.0),
    "learned-finite": priors.LearnedConcentration(priors.FiniteDirichlet(n_components=7), shape=0.5, rate=0.5),
}

ALL_PRIORS = {**{name: fast for name, (fast, _) in PRIORS.items()}, **LEARNED}


def some_responsibilities(n, n_clusters, seed):
    """Soft assignments, some of them exactly zero or one."""
    rng = np.random.default_rng(seed + 2)
    r = rng.dirichlet(np.full(n_clusters, 0.6), size=n)
    r[:: max(n // 4, 1)] = np.eye(n_clusters)[rng.integers(0, n_clusters, len(r[:: max(n // 4, 1)]))]
    r[r < 0.02] = 0.0
    return r / r.sum(axis=1, keepdims=True)
