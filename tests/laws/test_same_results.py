"""Different ways to the same result: workers, blocks, weights, orders of work, models put together."""

import numpy as np
import pytest
from scipy import sparse

from stickbreak import DPMixture
from stickbreak.core import family as core_family
from stickbreak.core.mixture import Mixture
from stickbreak.data import open_source
from stickbreak.families import Categorical, Gaussian, Product
from stickbreak.learn import memoized
from stickbreak.learn.events import LapDone, RunState
from stickbreak.learn.starts import from_responsibilities
from stickbreak.learn.stochastic import LearningRate, stochastic
from stickbreak.learn.workers import Crew, Weights
from textbook import longhand
from textbook.members import FAMILIES, PRIORS, bind, some_responsibilities

KINDS = ["gaussian", "zero-mean-gaussian", "diagonal-gaussian", "multinomial", "poisson", "bernoulli", "categorical"]


def table(kind, n=90, seed=0, apart=6.0):
    """Rows of three groups."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, n)
    if kind in ("gaussian", "diagonal-gaussian", "product"):
        X = rng.standard_normal((n, 2)) + apart * np.array([[0, 0], [1, 0], [0, 1]])[z]
        return np.column_stack([X, z]) if kind == "product" else X
    if kind == "zero-mean-gaussian":
        return rng.standard_normal((n, 2)) * np.array([[0.1, 0.1], [1, 20], [30, 1]])[z]
    if kind in ("multinomial", "sparse", "poisson"):
        X = rng.poisson(np.array([[9, 1, 1], [1, 9, 1], [1, 1, 40]])[z]).astype(float)
        return sparse.csr_array(X) if kind == "sparse" else X
    return (rng.random((n, 6)) < np.eye(3)[z].repeat(2, axis=1) * 0.9 + 0.05).astype(float)


def family(kind):
    if kind == "product":
        return Product([((0, 1), Gaussian()), ((2,), Categorical())])
    return "multinomial" if kind == "sparse" else kind


def bits(model):
    s = model.summary_
    return s.stats.tobytes(), s.entropy.tobytes(), s.log_base, s.ids.tolist(), model.elbo_, model.labels_.tobytes()


def bounds(model):
    return [lap.elbo for lap in model.history_]


@pytest.mark.parametrize("kind", [*KINDS, "sparse", "product"])
@pytest.mark.parametrize("algorithm", ["full", "memoized", "stochastic"])
def test_any_number_of_workers_gives_the_same_bits(monkeypatch, kind, algorithm):
    monkeypatch.setattr(core_family, "TILE_BYTES", 1)  # Tiles of 64 rows, so that there is work for many.
    X = table(kind, n=3000, apart=2.5)
    results = [
        DPMixture(
            family(kind), n_components=4, algorithm=algorithm, max_iter=6, tol=0, random_state=0, n_jobs=jobs
        ).fit(X)
        for jobs in (1, 2, 3)
    ]
    assert bits(results[0]) == bits(results[1]) == bits(results[2])
    assert bounds(results[0]) == bounds(results[2])
    np.testing.assert_array_equal(results[0].score_samples(X), results[2].score_samples(X))


def test_many_columns_give_the_same_bits_too():
    X = np.random.default_rng(0).standard_normal((9000, 66)) + np.arange(9000)[:, None] % 3
    a, b = (DPMixture(n_components=3, max_iter=2, tol=0, random_state=0, n_jobs=jobs).fit(X) for jobs in (1, 3))
    assert bits(a) == bits(b)


@pytest.mark.parametrize("kind", [*KINDS, "sparse", "product"])
def test_memoized_inference_with_one_block_is_full_inference(kind):
    X, options = table(kind, apart=2.5), {"n_components": 5, "random_state": 0, "max_iter": 8, "tol": 0}
    full = DPMixture(family(kind), algorithm="full", **options).fit(X)
    one = DPMixture(family(kind), algorithm="memoized", n_blocks=1, **options).fit(X)
    assert bits(full) == bits(one)
    assert bounds(full) == bounds(one)


@pytest.mark.parametrize("kind", [*KINDS, "sparse", "product"])
@pytest.mark.parametrize("start", ["k-means++", "random", "best-of-10"])
def test_weight_two_is_the_row_twice_through_a_fit(kind, start):
    X = table(kind, apart=2.5)
    times = np.random.default_rng(1).integers(0, 4, X.shape[0])
    options = {"n_components": 5, "algorithm": "full", "init": start, "random_state": 0, "max_iter": 15, "tol": 0}
    weighted = DPMixture(family(kind), **options).fit(X, sample_weight=times.astype(float))
    repeated = DPMixture(family(kind), **options).fit(X[np.repeat(np.arange(X.shape[0]), times)])
    # At a fixed point rounding decides which run stops first.
    pairs = zip(bounds(weighted), bounds(repeated), strict=False)
    assert all(a == pytest.approx(b, rel=1e-9) for a, b in pairs)
    np.testing.assert_allclose(weighted.summary_.stats, repeated.summary_.stats, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


@pytest.mark.parametrize("kind", ["categorical", "product", "bernoulli"])
def test_rows_of_weight_zero_may_hold_anything_the_family_knows(kind):
    """Such a row counts in nothing, so that a category of its own is unknown: labels are there all the same."""
    X = table(kind)
    times = np.ones(len(X))
    if kind != "bernoulli":
        X[7, -1] = 9.0
    times[7] = 0.0
    held = times > 0
    options = {"n_components": 4, "algorithm": "full", "random_state": 0, "max_iter": 5, "tol": 0}
    a = DPMixture(family(kind), **options).fit(X, sample_weight=times)
    b = DPMixture(family(kind), **options).fit(X[held])
    assert a.elbo_ == pytest.approx(b.elbo_, rel=1e-10)
    np.testing.assert_array_equal(a.labels_[held], b.labels_)


def laps(events, n):
    done = []
    for event in events:
        if isinstance(event, LapDone):
            done.append(event)
            if len(done) == n:
                return done
    return done


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_a_stochastic_step_of_all_rows_at_rate_one_is_a_full_lap(name, weighted):
    member = FAMILIES[name](30, seed=6)
    model = Mixture(member.family, PRIORS["dirichlet-process"][0])
    weights = Weights(np.random.default_rng(0).integers(1, 4, 30).astype(float) if weighted else None)
    source = open_source(member.rows)
    blocks, totals = source.partition(1), []
    with Crew(1) as crew:
        start = from_responsibilities(some_responsibilities(30, 4, seed=6), source, weights, model, crew)
        for kind in ("full", "stochastic"):
            state = RunState(total=start, rng=np.random.default_rng(0))
            if kind == "full":
                memoized.begin(state, start, blocks)
                events = memoized.memoized(model, blocks, weights, crew, state, 4)
            else:
                events = stochastic(model, blocks, weights, crew, state, 4, LearningRate(0, 0.5), evaluate_every=1)
            done = laps(events, 1)
            totals.append((state.total, done[0].elbo))
    (full, bound), (step, later) = totals
    assert full.ids.tolist() == step.ids.tolist()
    np.testing.assert_allclose(step.stats, full.stats, rtol=1e-12, atol=1e-12)
    # The stochastic bound is that of the next local step under these global factors, so it can only be higher.
    assert later >= bound - 1e-9 * abs(bound)


@pytest.mark.parametrize("name", ["gaussian", "poisson", "product"])
def test_stochastic_blends_are_the_papers(name):
    """lam <- (1 - rho) lam + rho (lam_0 + N / n_b S_b), block after block, and the bound of eq. (8) at such factors."""
    member, (fast, slow) = FAMILIES[name](30, seed=6), PRIORS["dirichlet-process"]
    model, source = Mixture(member.family, fast), open_source(member.rows)
    blocks, rate = source.partition(3), LearningRate(2, 0.7)
    resp = some_responsibilities(30, 4, seed=6)
    stats, base = member.family.stats(member.rows), member.family.prior_natural
    with Crew(1) as crew:
        start = from_responsibilities(resp, source, Weights(), model, crew)
        state = RunState(total=start, rng=np.random.default_rng(0))
        done = laps(stochastic(model, blocks, Weights(), crew, state, 4, rate, evaluate_every=1), 1)
    lam = base + start.stats
    for step, b in enumerate(state.order, start=1):
        rows = np.arange(b, 30, 3)
        log_w = slow.expected_log_weights(slow.posterior((lam - base)[:, 0]))
        scores = stats[rows] @ member.family.expected_natural(lam).T + log_w
        r = np.exp(scores - scores.max(axis=1, keepdims=True))
        r /= r.sum(axis=1, keepdims=True)
        rho = (step + 2) ** -0.7
        lam = (1 - rho) * lam + rho * (base + 30 / len(rows) * r.T @ stats[rows])
    order = np.argsort(-(lam - base)[:, 0], kind="stable")
    np.testing.assert_allclose(state.total.stats, (lam - base)[order], rtol=1e-9, atol=1e-9)
    assert done[0].elbo <= model.bound(state.total) + abs(model.bound(state.total))


@pytest.mark.parametrize("kind", KINDS)
def test_going_on_from_a_fit_raises_its_bound(kind):
    X = table(kind, apart=2.5)
    options = {"n_components": 5, "algorithm": "full", "tol": 0, "moves": "none"}
    first = DPMixture(family(kind), random_state=0, max_iter=4, **options).fit(X)
    later = DPMixture(family(kind), init=first, max_iter=1, **options).fit(X)
    assert later.elbo_ >= first.elbo_ - 1e-9 * abs(first.elbo_)
    straight = DPMixture(family(kind), random_state=0, max_iter=5, **options).fit(X)
    assert later.elbo_ == pytest.approx(straight.elbo_, rel=1e-10)


@pytest.mark.parametrize("algorithm", ["full", "memoized", "stochastic"])
def test_a_tolerance_of_zero_runs_a_fixed_number_of_laps(algorithm):
    """As the warning about convergence says; at a fixed point rounding may lower the bound by its last digit."""
    for seed in range(5):
        X = table("bernoulli", seed=seed)
        model = DPMixture("bernoulli", algorithm=algorithm, n_components=4, max_iter=40, tol=0, random_state=seed).fit(
            X
        )
        assert model.n_iter_ == 40
        assert not model.converged_


TWINS = ["gaussian", "diagonal", "zero-mean", "multinomial", "poisson", "categorical", "product"]


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("shares", ["dirichlet-process", "pitman-yor"])
def test_two_models_together_have_the_bound_of_all_rows(name, shares):
    """Run to a fixed point, each model's responsibilities are its predictions; side by side they are those of all."""
    member, (fast, slow) = FAMILIES[name](40, seed=6), PRIORS[shares]
    halves = member.rows[:15], member.rows[15:]
    options = {"prior": fast, "n_components": 2, "algorithm": "full", "random_state": 0, "max_iter": 3000, "tol": 1e-14}
    first = DPMixture(member.family, **options).fit(halves[0])
    second = DPMixture(first.family_, **options).fit(halves[1])
    both = first.combine(second)
    a, b = first.predict_proba(halves[0]), second.predict_proba(halves[1])
    resp = np.zeros((40, a.shape[1] + b.shape[1]))
    resp[:15, : a.shape[1]], resp[15:, a.shape[1] :] = a, b
    resp = resp[:, np.argsort(-resp.sum(axis=0), kind="stable")]
    expected = longhand.elbo(member.rows, resp, np.ones(40), member.twin, slow)
    assert both.elbo_ == pytest.approx(expected, rel=1e-7)
    np.testing.assert_allclose(both.summary_.counts, resp.sum(axis=0), rtol=1e-4)


def test_models_added_cluster_to_cluster():
    X = table("gaussian")
    first = DPMixture(n_components=3, random_state=0, tol=1e-12).fit(X[:40])
    second = DPMixture(first.family_, init=first, n_components=3, tol=1e-12).fit(X[40:])
    both = first.combine(second, clusters="same")
    assert both.n_components_ == 3
    together = bind(first.family_, X)
    # Columns by the ids that the two models share, which are their places in the first start.
    theirs = second.predict_proba(X[40:])[:, np.argsort(second.summary_.ids)][:, first.summary_.ids]
    resp = np.concatenate([first.predict_proba(X[:40]), theirs])
    counts = resp.sum(axis=0)
    np.testing.assert_allclose(both.summary_.counts, np.sort(counts)[::-1], rtol=1e-3)
    stats = together.recentred(both.summary_.stats, both.family_)
    np.testing.assert_allclose(stats, (resp.T @ together.stats(X))[np.argsort(-counts)], atol=1e-6)
