"""Laws that every family keeps."""

from itertools import product

import numpy as np
import pytest
from scipy import integrate, sparse
from scipy.special import logsumexp

from stickbreak import families
from stickbreak.core.family import Family
from stickbreak.core.kernels import Responsibilities
from stickbreak.core.mixture import Mixture
from stickbreak.core.workspace import Workspace
from stickbreak.priors import DirichletProcess
from textbook.members import FAMILIES, MISSING, bind, some_responsibilities

N, K = 17, 3


@pytest.fixture(params=FAMILIES)
def member(request):
    return FAMILIES[request.param](N, seed=7)


def resp(n=N):
    return some_responsibilities(n, K, seed=4)


def naturals(member):
    """Posterior natural parameters of a few clusters."""
    return member.family.prior_natural + resp(len(member.rows)).T @ member.family.stats(member.rows)


def setting(member):
    model = Mixture(member.family, DirichletProcess())
    s = model.summarize_given(member.rows, Responsibilities.from_dense(resp()), np.arange(K), Workspace())
    return model, model.posterior(s)


def test_shapes_and_the_count(member):
    f, n = member.family, len(member.rows)
    t = f.stats(member.rows)
    assert t.dtype == np.float64
    assert t.shape == (n, len(f.prior_natural))
    np.testing.assert_array_equal(t[:, 0], 1.0)
    assert f.log_base(member.rows).shape == (n,)
    assert f.n_columns == member.rows.shape[1]
    assert np.isfinite(f.embed(member.rows)).all()
    assert f.expected_natural(naturals(member)).shape == (K, t.shape[1])
    assert f.log_normalizer(naturals(member)).shape == (K,)


def test_expected_natural_is_the_gradient_of_log_normalizer(member):
    f, lam = member.family, naturals(member)
    found = f.expected_natural(lam)
    for p in range(lam.shape[1]):
        step = np.zeros_like(lam)
        step[:, p] = 1e-5 * np.maximum(np.abs(lam[:, p]), 0.1)
        slope = (f.log_normalizer(lam + step) - f.log_normalizer(lam - step)) / (2 * step[:, p])
        np.testing.assert_allclose(found[:, p], slope, rtol=2e-6, atol=2e-7)


def test_log_normalizer_is_convex(member):
    f, lam = member.family, naturals(member)
    half = f.log_normalizer((lam[:1] + lam[1:2]) / 2)
    assert half <= f.log_normalizer(lam[:2]).mean() + 1e-9


def test_expected_likelihood_is_the_textbooks(member):
    """<E[eta], t(x)> + log h(x), the local step without the weights."""
    f, mass = member.family, resp()
    found = f.stats(member.rows) @ f.expected_natural(naturals(member)).T + f.log_base(member.rows)[:, None]
    q = [member.twin.posterior(member.rows, mass[:, k]) for k in range(K)]
    expected = [[member.twin.expected_log_likelihood(x, q_k) for q_k in q] for x in member.rows]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_predictive_is_the_ratio_of_normalizers_and_scipys(member):
    f, lam, mass = member.family, naturals(member), resp()
    found = f.predictive(member.rows, lam)
    np.testing.assert_allclose(found, Family.predictive(f, member.rows, lam), rtol=1e-8, atol=1e-8)
    q = [member.twin.posterior(member.rows, mass[:, k]) for k in range(K)]
    np.testing.assert_allclose(found, [[member.twin.predictive(x, q_k) for q_k in q] for x in member.rows], rtol=1e-8)


@pytest.mark.parametrize("name", ["categorical", "bernoulli", "multinomial", "poisson", "gaussian-line"])
def test_predictive_adds_up_to_one(name):
    member = FAMILIES[name](N, seed=7)
    f, lam = member.family, naturals(member)
    if name == "gaussian-line":
        whole, _ = integrate.quad(lambda x: np.exp(f.predictive(np.array([[x]]), lam)[0, 0]), -np.inf, np.inf)
        assert whole == pytest.approx(1, abs=1e-6)
        return
    if name == "poisson":
        every = np.full((4000, 3), np.nan)
        every[:, 1] = np.arange(4000)
    elif name == "multinomial":
        every = np.array([x for x in product(range(6), repeat=4) if sum(x) == 5], dtype=float)
    else:
        every = np.array(list(product(*(range(int(m) + 1) for m in np.nanmax(member.rows, axis=0)))), dtype=float)
    np.testing.assert_allclose(logsumexp(f.predictive(every, lam), axis=0), 0, atol=1e-8)


def test_sampled_rows_have_the_described_means(member):
    f, lam = member.family, naturals(member)
    told = f.describe(lam)
    x = f.sample(lam[1], 20_000, np.random.default_rng(0))
    assert x.shape == (20_000, f.n_columns)
    for columns, mean in described_means(told, member, 1):
        spread = x[:, columns].std(axis=0) / np.sqrt(len(x))
        assert np.all(np.abs(x[:, columns].mean(axis=0) - mean) < 5 * spread + 1e-12)


def described_means(told, member, k):
    """Columns of rows, and the means that `describe` gives them."""
    d = member.rows.shape[1]
    if "parts" in told:
        for part in told["parts"]:
            columns = np.array(part["columns"])
            inner = type(member)(member.rows[:, columns], 0, 0)
            yield from ((columns[c], m) for c, m in described_means(part, inner, k))
    elif "category_probabilities" in told:
        yield np.arange(d), [np.arange(p.shape[1]) @ p[k] for p in told["category_probabilities"]]
    elif isinstance(member.family, families.Multinomial):
        yield np.arange(d), member.family.row_total * told["probabilities"][k]
    else:
        yield np.arange(d), next(told[name][k] for name in ("means", "rates", "probabilities") if name in told)


@pytest.mark.parametrize("name", ["gaussian", "zero-mean", "diagonal"])
def test_sampled_rows_spread_as_the_students_do(name):
    """E[covariance] = B (1 + 1/kappa) / (nu - D - 1): a Student's scale times df / (df - 2)."""
    member = FAMILIES[name](60, seed=7)
    lam = naturals(member)[0]
    x = member.family.sample(lam, 60_000, np.random.default_rng(0))
    q = member.twin.posterior(member.rows, resp(60)[:, 0])
    if name == "diagonal":
        expected = np.diag([b * (kappa + 1) / kappa / (a - 1) for _, kappa, a, b in q])
    else:
        (w, nu), wider = (q[-2:], (q[1] + 1) / q[1] if name == "gaussian" else 1.0)
        expected = np.linalg.inv(w) * wider / (nu - 4)
    np.testing.assert_allclose(np.cov(x.T), expected, atol=0.06 * expected.max())


def test_rows_one_by_one_are_rows_at_once(member):
    model, posterior = setting(member)
    whole = model.summarize(member.rows, np.ones(N), posterior, K, Workspace())
    space, parts = Workspace(), None
    for x in member.rows:
        one = model.summarize(x[None], np.ones(1), posterior, K, space)
        parts = one if parts is None else parts + one
    np.testing.assert_allclose(parts.stats, whole.stats, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(parts.entropy, whole.entropy, rtol=1e-9, atol=1e-10)
    assert parts.log_base == pytest.approx(whole.log_base, rel=1e-12)


def test_weight_two_is_the_row_twice_and_weight_zero_no_row(member):
    model, posterior = setting(member)
    times = np.random.default_rng(0).integers(0, 4, N)
    weighted = model.summarize(member.rows, times.astype(float), posterior, K, Workspace())
    repeated = model.summarize(np.repeat(member.rows, times, axis=0), np.ones(times.sum()), posterior, K, Workspace())
    np.testing.assert_allclose(weighted.stats, repeated.stats, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(weighted.entropy, repeated.entropy, rtol=1e-9, atol=1e-10)
    assert weighted.log_base == pytest.approx(repeated.log_base, rel=1e-12)


def test_single_precision_rows_are_taken_as_their_double_copies(member):
    f, lam = member.family, naturals(member)
    short = member.rows.astype(np.float32)
    long = short.astype(np.float64)
    for method in (f.stats, f.log_base, f.embed, lambda x: f.predictive(x, lam)):
        np.testing.assert_array_equal(method(short), method(long))
    model, posterior = setting(member)
    a, b = (model.summarize(x, np.ones(N), posterior, K, Workspace()) for x in (short, long))
    np.testing.assert_array_equal(a.stats, b.stats)
    np.testing.assert_array_equal(a.entropy, b.entropy)
    assert a.log_base == b.log_base


@pytest.mark.parametrize("name", [name for name in MISSING if name != "product"])
def test_a_row_without_cells_says_nothing(name):
    member = FAMILIES[name](N, seed=7)
    _, posterior = setting(member)
    x = np.full((1, member.rows.shape[1]), np.nan)
    np.testing.assert_array_equal(member.family.stats(x)[0, 1:], 0)
    assert member.family.log_base(x)[0] == 0
    np.testing.assert_allclose(member.family.predictive(x, naturals(member)), 0, atol=1e-14)
    scores = member.family.scores(
        posterior.scorer, member.family.encode(x, Workspace()), posterior.log_weights, Workspace()
    )
    np.testing.assert_allclose(scores[0], posterior.log_weights)


CELLS = [("categorical", 1, 4), ("bernoulli", 2, 2), ("poisson", 0, 3000), ("product", 3, 3000)]


@pytest.mark.parametrize(("name", "column", "most"), CELLS)
def test_a_missing_cell_is_summed_over(name, column, most):
    member = FAMILIES[name](N, seed=7)
    x = np.repeat(member.rows[:1], most, axis=0)
    x[:, column] = np.arange(most)
    lam, missing = naturals(member), x[:1].copy()
    missing[:, column] = np.nan
    summed = logsumexp(member.family.predictive(x, lam), axis=0)
    np.testing.assert_allclose(member.family.predictive(missing, lam)[0], summed, atol=1e-8)


def test_a_missing_number_is_integrated_over():
    member = FAMILIES["diagonal"](N, seed=7)
    lam, x = naturals(member), member.rows[:1].copy()

    def density(value):
        x[0, 1] = value
        return np.exp(member.family.predictive(x, lam)[0, 0])

    whole, _ = integrate.quad(density, -np.inf, np.inf)
    x[0, 1] = np.nan
    assert np.exp(member.family.predictive(x, lam)[0, 0]) == pytest.approx(whole, rel=1e-6)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_counts_are_dense_counts(make, dtype):
    member = FAMILIES["multinomial"](40, seed=7)
    rows = make(member.rows.astype(dtype))
    f, lam, model = member.family, naturals(member), Mixture(member.family, DirichletProcess())
    np.testing.assert_allclose(f.log_base(rows), f.log_base(member.rows), atol=1e-12)
    np.testing.assert_allclose(f.predictive(rows, lam), f.predictive(member.rows, lam), atol=1e-11)
    np.testing.assert_allclose(f.embed(rows).toarray(), f.embed(member.rows), rtol=1e-6)
    given = Responsibilities.from_dense(resp(40))
    a, b = (model.summarize_given(x, given, np.arange(K), Workspace()) for x in (rows, member.rows))
    np.testing.assert_allclose(a.stats, b.stats, atol=1e-12)
    a, b = (model.summarize(x, np.ones(40), model.posterior(b), 2, Workspace()) for x in (rows, member.rows))
    np.testing.assert_allclose(a.stats, b.stats, atol=1e-11)
    assert model.bound(a) == pytest.approx(model.bound(b), rel=1e-12)
    told = bind(families.Multinomial(), rows)
    assert told.row_total == pytest.approx(member.rows.sum(axis=1).mean())


@pytest.mark.parametrize("name", ["gaussian", "diagonal", "product"])
def test_recentred_sums_are_sums_taken_afresh(name):
    """Product: its Gaussian moves, the other parts stay."""
    here, there = FAMILIES[name](N, seed=7), FAMILIES[name](N, seed=8)
    home = there.family
    s = resp().T @ home.stats(here.rows)
    np.testing.assert_allclose(here.family.recentred(s, home), resp().T @ here.family.stats(here.rows), atol=1e-10)
    assert here.family.same_prior(here.family)
    assert here.family.same_prior(home)
