"""What runs promise: bounds that never fall, totals that are exact, and memoized inference as the paper has it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stickbreak import DPMixture, priors
from stickbreak.core.kernels import Responsibilities
from stickbreak.core.mixture import Mixture
from stickbreak.core.summary import Summary
from stickbreak.core.workspace import Workspace
from stickbreak.data import open_source
from stickbreak.families import Categorical, Gaussian, Product
from stickbreak.learn import memoized
from stickbreak.learn.events import LapDone, RunState
from stickbreak.learn.workers import Crew, Weights
from textbook import longhand, softmax
from textbook.members import FAMILIES, LEARNED, PRIORS, some_responsibilities

REAL = st.one_of(st.sampled_from([0.0, 0.0, 1.0, -3.0, 1e-3]), st.floats(-50, 50))
FLAG, COUNT = st.sampled_from([0.0, 1.0]), st.one_of(st.integers(0, 4), st.integers(0, 300)).map(float)
NAMES = {
    "gaussian": REAL,
    "zero-mean-gaussian": REAL,
    "diagonal-gaussian": st.one_of(REAL, st.just(np.nan)),
    "multinomial": COUNT,
    "categorical": st.one_of(st.integers(0, 3).map(float), st.just(np.nan)),
    "bernoulli": st.one_of(FLAG, st.just(np.nan)),
    "poisson": st.one_of(COUNT, st.just(np.nan)),
    "product": st.integers(0, 3).map(float),
}
SHARES = [None, priors.BetaSticks(0.5, 2.0), *[fast for fast, _ in PRIORS.values()], *LEARNED.values()]


@st.composite
def runs(draw, elements):
    """Data of any kind (equal rows, flat columns, one row, more clusters than rows), and options."""
    n, d = draw(st.integers(1, 16)), draw(st.integers(1, 3))
    X = draw(hnp.arrays(float, (n, d), elements=elements))
    X[np.isnan(X).all(axis=1), 0] = 1.0
    if draw(st.booleans()):
        X[:, -1] = X[0, -1]
    if draw(st.booleans()):
        X = np.repeat(X, draw(st.integers(1, 3)), axis=0)
    options = {
        "prior": draw(st.sampled_from(SHARES)),
        "n_components": draw(st.integers(1, 7)),
        "init": draw(st.sampled_from(["random", "k-means++"])),
        "resp_per_row": draw(st.sampled_from([None, None, 1, 2])),
        "n_blocks": draw(st.integers(1, 4)),
        "random_state": draw(st.integers(0, 3)),
    }
    weight = draw(st.one_of(st.none(), hnp.arrays(float, len(X), elements=st.sampled_from([0.0, 0.5, 1.0, 2.0]))))
    return X, weight if weight is not None and weight.any() else None, options


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_the_bound_never_falls_on_any_data(name, data):
    X, weight, options = data.draw(runs(NAMES[name]))
    if name == "multinomial":
        X[:, 0] += 1.0
    family = name
    if name == "product":
        X = np.column_stack([X, X[:, 0]])
        last = X.shape[1] - 1
        family = Product([(tuple(range(last)), Gaussian()), ((last,), Categorical())])
    model = DPMixture(family, max_iter=10, tol=0, n_jobs=1, **options).fit(X, sample_weight=weight)
    bounds = np.array([lap.elbo for lap in model.history_])
    assert np.all(np.isfinite(bounds))
    assert np.all(np.diff(bounds) >= -1e-9 * (1 + np.abs(bounds[1:])))
    assert model.elbo_ == pytest.approx(bounds[-1], rel=1e-9)
    held = len(X) if weight is None else weight.sum()
    assert model.summary_.counts.sum() == pytest.approx(held, rel=1e-9)
    assert np.all(np.diff(model.summary_.counts) <= 0)


class Plain:
    """Memoized inference with every row's responsibilities kept, so that all sums can be taken afresh."""

    def __init__(self, member, resp, prior, n_blocks, limit):
        self.member, self.prior, self.limit = member, prior, limit
        self.blocks = [np.arange(b, len(member.rows), n_blocks) for b in range(n_blocks)]
        self.stats, self.resp = member.family.stats(member.rows), resp.copy()
        # Before its first visit a block's memo is its share of the start, whatever its rows.
        start = softmax.summarize(self.stats, resp)
        self.memos = [start * len(rows) / len(member.rows) for rows in self.blocks]
        self.ids = np.arange(resp.shape[1])

    def lap(self, order):
        twin, rows = self.member.twin, self.member.rows
        for b in order:
            total = sum(self.memos)[self.ids]
            lam = self.member.family.prior_natural + total
            log_w = self.prior.expected_log_weights(self.prior.posterior(total[:, 0]))
            scores = self.stats[self.blocks[b]] @ self.member.family.expected_natural(lam).T + log_w[: len(total)]
            r, _ = softmax.softmax(scores, np.ones(len(scores)), self.limit)
            self.resp[np.ix_(self.blocks[b], self.ids)] = r
            self.memos[b] = softmax.summarize(self.stats[self.blocks[b]], self.resp[self.blocks[b]])
        self.ids = self.ids[np.argsort(-sum(self.memos)[self.ids, 0], kind="stable")]
        resp = self.resp[:, self.ids]
        return longhand.elbo(rows, resp, np.ones(len(rows)), twin, self.prior), self.stats.T @ resp


def start_of(model, member, resp):
    return model.summarize_given(member.rows, Responsibilities.from_dense(resp), np.arange(resp.shape[1]), Workspace())


RUNS = [(1, 4, "pitman-yor"), (3, 4, "dirichlet-process"), (4, 1, "finite"), (2, 2, "dirichlet-process")]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(("n_blocks", "limit", "shares"), RUNS)
def test_memoized_inference_is_the_papers(name, n_blocks, limit, shares):
    """After each lap bound and totals are those of all rows' responsibilities, kept and summed afresh."""
    member = FAMILIES[name](23, seed=5)
    fast, slow = PRIORS[shares]
    model, resp = Mixture(member.family, fast), some_responsibilities(23, 4, seed=9)
    resp = resp[:, np.argsort(-resp.sum(axis=0))]
    blocks = open_source(member.rows).partition(n_blocks)
    start = start_of(model, member, resp)
    state = RunState(total=start, rng=np.random.default_rng(0))
    memoized.begin(state, start, blocks)
    plain = Plain(member, resp, slow, n_blocks, limit)
    laps = 0
    with Crew(1) as crew:
        for event in memoized.memoized(model, blocks, Weights(), crew, state, limit):
            if not isinstance(event, LapDone):
                continue
            bound, totals = plain.lap(state.order)
            assert state.total.ids.tolist() == plain.ids.tolist()
            np.testing.assert_allclose(state.total.stats, totals.T, rtol=1e-6, atol=1e-7)
            assert event.elbo == pytest.approx(bound, rel=1e-7)
            laps += 1
            if laps == 5:
                break


@pytest.mark.parametrize("name", FAMILIES)
def test_empty_clusters_leave_the_bound_as_it_was(name):
    member = FAMILIES[name](12, seed=5)
    for prior in [*[fast for fast, _ in PRIORS.values()], *LEARNED.values()]:
        model = Mixture(member.family, prior)
        s = start_of(model, member, some_responsibilities(12, 3, seed=9))
        wider = s + Summary.empty(np.array([7, 8]), s.stats.shape[1])
        assert model.bound(wider) == pytest.approx(model.bound(s), rel=1e-11)
        assert model.bound(wider.without_empty()) == model.bound(s)
        np.testing.assert_allclose(model.log_density(member.rows, wider), model.log_density(member.rows, s), rtol=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
def test_fewer_responsibilities_are_a_lower_bound(name):
    """The best q with at most L clusters a row is the top L, and L more are never worse."""
    member = FAMILIES[name](20, seed=5)
    fast, slow = PRIORS["dirichlet-process"]
    model, one, resp = Mixture(member.family, fast), np.ones(20), some_responsibilities(20, 4, seed=9)
    start = start_of(model, member, resp)
    posterior, bounds = model.posterior(start), []
    factors = longhand.global_step(member.rows, resp, one, member.twin, slow)
    scores = longhand.local_scores(member.rows, member.twin, slow, factors)
    for limit in (1, 2, 3, 4):
        local = model.summarize(member.rows, one, posterior, limit, Workspace())
        best, _ = softmax.softmax(scores, one, limit)
        assert model.bound(local) == pytest.approx(longhand.elbo(member.rows, best, one, member.twin, slow), rel=1e-8)
        bounds.append(model.bound_at(local, start))
    assert np.all(np.diff(bounds) >= -1e-9 * abs(bounds[-1]))
