"""Births and merges on the way of a run: exact sums, bounds that never fall, losses taken back to the last bit."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from laws.test_inference import NAMES, runs
from laws.test_same_results import KINDS, family, table
from stickbreak import DPMixture, families
from stickbreak.core import family as core_family
from stickbreak.core.kernels import Responsibilities
from stickbreak.core.mixture import Mixture
from stickbreak.core.summary import total
from stickbreak.core.workspace import Workspace
from stickbreak.data import open_source
from stickbreak.families import Categorical, Gaussian, Product
from stickbreak.learn import growing, memoized
from stickbreak.learn.events import LapDone, RunState
from stickbreak.learn.starts import from_labels
from stickbreak.learn.workers import Crew, Weights
from stickbreak.moves import birth, merge
from stickbreak.moves.birth import create
from stickbreak.moves.gleaning import Wanted
from stickbreak.moves.options import Moves
from stickbreak.moves.seeding import Sample
from textbook.members import ALL_PRIORS, bind

SETS = {
    "default": Moves(),
    "accepted": Moves(births="accepted"),
    "drawn": Moves(merges="drawn"),
    "uniform": Moves(target="uniform", births_per_lap=2),
    "no-merges": Moves(merges=None),
    "no-births": Moves(births=None),
}


def bound_to(kind, X, weight=None, shares="dirichlet-process"):
    free = family(kind)
    return Mixture(bind(families.BY_NAME[free]() if isinstance(free, str) else free, X, weight), ALL_PRIORS[shares])


class Run:
    """A learner with moves from given labels, one cluster if there are none."""

    def __init__(self, model, X, moves, *, weight=None, labels=None, n_blocks=4, seed=0):
        self.crew, source, weights = Crew(1), open_source(X), Weights(weight)
        labels = np.zeros(X.shape[0], dtype=int) if labels is None else labels
        start = from_labels(labels, source, weights, model, self.crew)
        blocks = source.partition(n_blocks)
        self.model, self.state = model, RunState(total=start, rng=np.random.default_rng(seed))
        memoized.begin(self.state, start, blocks)
        self.events = memoized.memoized(model, blocks, weights, self.crew, self.state, 10**6, moves)

    def lap(self, on_block=None):
        for event in self.events:
            if isinstance(event, LapDone):
                return event
            if on_block is not None:
                on_block()
        raise AssertionError("a learner never ends by itself")

    def laps(self, most=60):
        """Laps until the run has settled and its bound rises no more."""
        last = -np.inf
        for _ in range(most):
            lap = self.lap()
            yield lap
            if lap.settled and lap.elbo - last < 1e-7 * abs(last):
                return
            last = lap.elbo

    def bits(self):
        s = self.state
        return [(p.stats.tobytes(), p.entropy.tobytes(), p.log_base, p.ids.tolist()) for p in (s.total, *s.memos)]


@pytest.mark.parametrize("moves", SETS.values(), ids=SETS)
@pytest.mark.parametrize("kind", [*KINDS, "sparse", "product"])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_totals_are_sums_of_memos_and_bounds_never_fall(kind, moves, weighted):
    X = table(kind, n=240, seed=1)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], 240) if weighted else None
    model = bound_to(kind, X, weight)
    labels = None if moves.births else np.random.default_rng(0).integers(0, 8, 240)
    run = Run(model, X, moves, weight=weight, labels=labels)
    seen, last, kept, ended = set(run.state.total.ids.tolist()), -np.inf, 0, False
    for lap in run.laps():
        state = run.state
        s = total(state.memos).by_size()
        ids = state.total.ids.tolist()
        assert all(memo.ids.tolist() == ids for memo in state.memos)
        np.testing.assert_allclose(state.total.stats, s.only(state.total.ids).stats, rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(state.total.entropy, s.only(state.total.ids).entropy, rtol=1e-12, atol=1e-9)
        assert state.total.counts.sum() == pytest.approx(240 if weight is None else weight.sum(), rel=1e-12)
        assert np.all(np.diff(state.total.counts) <= 0)
        assert lap.elbo == model.bound(state.total)
        assert lap.n_components == state.total.n_clusters == len(set(ids))
        assert lap.births_kept <= lap.births_tried
        assert {k for k in ids if k <= max(seen)} <= seen
        if moves.births != "accepted":
            assert lap.elbo >= last - 1e-9 * abs(last)
        seen, last, kept, ended = seen | set(ids), lap.elbo, kept + lap.births_kept, lap.settled
    assert ended
    assert run.state.total.n_clusters > 1
    if moves.births:
        assert kept > 0


@pytest.mark.parametrize("shares", ALL_PRIORS)
def test_every_prior_takes_births_and_merges(shares):
    X = table("gaussian", n=240, seed=1)
    run = Run(bound_to("gaussian", X, shares=shares), X, Moves())
    bounds = [lap.elbo for lap in run.laps()]
    assert np.all(np.diff(bounds) >= -1e-9 * np.abs(bounds[1:]))
    assert run.state.total.n_clusters == 3


def halves_at_random(model, sample, moves, mass, rng, hands):
    """Stand in for creation: new clusters that are no clusters."""
    del moves, mass, hands
    resp = Responsibilities.from_dense(np.eye(2)[rng.integers(0, 2, len(sample.weight))] * sample.weight[:, None])
    return model.summarize_given(sample.rows, resp, np.arange(2), Workspace())


@pytest.mark.parametrize("kind", [*KINDS, "product"])
@pytest.mark.parametrize("n_groups", [1, 3])
def test_a_birth_that_loses_is_taken_back_to_the_last_bit(monkeypatch, kind, n_groups):
    """While it is in adoption its rows count twice; then nothing is left of it but the memory that it failed."""
    X, truth = table(kind, n=240, seed=1), None
    groups = np.random.default_rng(1).integers(0, 3, 240)
    if n_groups == 1:
        X = X[groups == 0]
    else:
        truth = groups
    born = []
    monkeypatch.setattr(growing, "create", lambda *args: born.append(halves_at_random(*args)) or born[-1])
    run = Run(bound_to(kind, X), X, Moves(merges=None, births_per_lap=1), labels=truth)
    first = run.lap()
    before, masses = run.bits(), dict(zip(run.state.total.ids.tolist(), run.state.total.counts.tolist(), strict=True))
    assert (first.births_tried, first.settled) == (0, False)

    def borrowed():
        extra = run.state.total - total(run.state.memos)
        assert extra.counts.sum() == pytest.approx(born[-1].counts.sum(), rel=1e-9)

    lap = run.lap(borrowed)
    assert len(born) == 1
    assert (lap.births_tried, lap.births_kept, lap.settled) == (1, 0, False)
    assert run.bits() == before
    assert lap.elbo == first.elbo
    failed = run.state.book.trials
    assert [(t.failures, t.mass) for t in failed.values()] == [(1, masses[cluster]) for cluster in failed]
    assert len(failed) == 1
    for _ in range(2 * n_groups + 2):
        lap = run.lap()
    assert len(born) == len(run.state.book.trials) == n_groups
    assert lap.settled
    assert lap.births_tried == 0


def test_a_cluster_from_which_births_failed_is_tried_again_when_it_has_changed(monkeypatch):
    X = np.random.default_rng(0).standard_normal((200, 2))
    tried = []
    monkeypatch.setattr(growing, "create", lambda *args: tried.append(args))
    run = Run(bound_to("gaussian", X), X, Moves(patience=2))
    for _ in range(8):
        lap = run.lap()
    assert lap.settled
    assert len(tried) == 2
    trials = run.state.book.trials
    trials[0] = type(trials[0])(trials[0].lap, 2, trials[0].mass / 2)
    for _ in range(8):
        lap = run.lap()
    assert lap.settled
    assert len(tried) == 4


def two_near_groups(n=200, apart=4.0):
    z = np.repeat([0, 1], n // 2)
    return np.random.default_rng(2).standard_normal((n, 2)) + apart * z[:, None] * [1, 0], z


def test_a_cluster_on_trial_that_is_missed_comes_back_and_is_not_tried_again():
    X, z = two_near_groups()
    run = Run(bound_to("gaussian", X), X, Moves(births=None), labels=z)
    trials, state = [], run.state

    def watch():
        if state.book.on_trial:
            trials.append((state.lap, state.book.on_trial, state.total.n_clusters))

    for _ in range(10):
        before, bound = run.bits(), run.model.bound(state.total)
        lap = run.lap(watch)
        if trials:
            break
    at, [gone], n_clusters = trials[0]
    assert n_clusters == 1
    assert run.bits() == before
    assert lap.elbo == bound
    assert lap.merges_kept == 0
    assert not lap.settled
    assert list(state.book.refused) == [gone]
    for _ in range(5):
        lap = run.lap(watch)
    assert lap.settled
    assert {t[0] for t in trials} == {at}
    state.book.refused[gone] /= 2
    for _ in range(5):
        lap = run.lap(watch)
    assert lap.settled
    assert len({t[0] for t in trials}) == 2
    assert state.total.n_clusters == 2


def test_a_cluster_on_trial_that_is_not_missed_goes():
    """Two clusters of one group, each with its side: the merge alone doesn't pay, a lap after it does."""
    X = np.random.default_rng(0).standard_normal((300, 2))
    for cut in (0.0, 0.7, 1.3):
        run = Run(bound_to("gaussian", X), X, Moves(births=None), labels=(X[:, 0] > cut).astype(int))
        laps = list(run.laps())
        assert run.state.total.n_clusters == 1
        assert all(b.elbo >= a.elbo - 1e-9 * abs(a.elbo) for a, b in pairwise(laps))
        assert sum(lap.merges_kept for lap in laps) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_fresh_clusters_hold_the_sample_and_are_two_or_more(kind):
    X = table(kind, n=300, seed=1)
    model, seen = bound_to(kind, X), []
    weight = np.random.default_rng(0).choice([0.2, 1.0], 300)

    def spy(given_model, sample, *rest):
        seen.append((sample, create(given_model, sample, *rest)))
        return seen[-1][1]

    run = Run(model, X, Moves(), weight=weight)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growing, "create", spy)
        run.lap()
        run.lap()
    [(sample, fresh)] = seen
    assert sample.weight.sum() == pytest.approx(weight.sum())
    assert fresh.n_clusters >= 2
    share = fresh.counts / sample.weight.sum()
    assert np.all(share >= Moves().least_share)
    assert share.sum() <= 1 + 1e-9


def test_rows_are_gathered_by_their_number_and_not_by_their_block(monkeypatch):
    """A target's sample is the same set of rows however the data are cut, some tenth of them."""
    X = np.random.default_rng(0).standard_normal((4000, 2))
    model, gathered = bound_to("gaussian", X), []
    for n_blocks, tile_bytes in ((1, 10**9), (1, 1), (2, 1), (5, 10**9)):
        monkeypatch.setattr(core_family, "TILE_BYTES", tile_bytes)
        run = Run(model, X, Moves(), n_blocks=n_blocks)
        ids = run.state.total.ids
        wanted = Wanted(np.empty((0, 2), int), ids, np.array([0.1]), np.array([7]), 0.1, 10**6)
        posterior, rows = model.posterior(run.state.total), set()
        for _, pieces in open_source(X).partition(n_blocks).visit(list(range(n_blocks))):
            _, found = run.crew.summarize(model, pieces, Weights(), posterior, 5, wanted.among(ids))
            rows |= {tuple(row) for part in found.samples[0] for row in part.rows.tolist()}
        gathered.append(rows)
    assert 300 < len(gathered[0]) < 500
    assert all(rows == gathered[0] for rows in gathered)


@pytest.mark.parametrize("n_blocks", [10, 20])
def test_the_papers_greedy_rule_ruins_what_the_ranked_rule_keeps(n_blocks):
    rng = np.random.default_rng(0)
    z = rng.integers(0, 5, 400)
    X = rng.standard_normal((400, 2)) + 4.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1], [2, 2]])[z]
    ends = {}
    for rule in ("ranked", "greedy"):
        run = Run(bound_to("gaussian", X), X, Moves(births=None, merges=rule), labels=z, n_blocks=n_blocks)
        ends[rule] = [(lap.n_components, lap.elbo) for lap in run.laps()][-1]
    assert ends["ranked"][0] >= 4
    assert ends["greedy"][0] < ends["ranked"][0]
    assert ends["greedy"][1] < ends["ranked"][1]


@pytest.mark.parametrize("sparsely", [False, True], ids=["dense", "sparse"])
def test_merges_need_no_rows(sparsely):
    """A lap's merges are those that the lap's sums tell: memos afterwards are those of responsibilities added."""
    X = table("multinomial", n=200, seed=3)
    labels = 2 * np.random.default_rng(3).integers(0, 3, 200) + np.random.default_rng(0).integers(0, 2, 200)
    run = Run(bound_to("multinomial", X), sparse.csr_array(X) if sparsely else X, Moves(births=None), labels=labels)
    for lap in run.laps():
        decided = run.state.total
        assert decided.log_base == pytest.approx(run.model.family.log_base(X).sum())
        assert np.all(decided.entropy >= -1e-9 * 200)
        assert lap.merges_kept <= lap.merges_tried + 1
    assert decided.n_clusters == 3
    np.testing.assert_allclose(decided.stats.sum(axis=0)[1:], X.sum(axis=0), rtol=1e-10)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_moves_finish_on_any_data(name, data):
    X, weight, options = data.draw(runs(NAMES[name]))
    if data.draw(st.booleans()):
        X, weight = np.repeat(X, 4, axis=0), None if weight is None else np.repeat(weight, 4)
    if name == "multinomial":
        X[:, 0] += 1.0
    free = name
    if name == "product":
        X = np.column_stack([X, X[:, 0]])
        last = X.shape[1] - 1
        free = Product([(tuple(range(last)), Gaussian()), ((last,), Categorical())])
    if data.draw(st.booleans()):
        del options["n_components"]
    model = DPMixture(free, max_iter=25, tol=0, n_jobs=1, **options).fit(X, sample_weight=weight)
    bounds = np.array([lap.elbo for lap in model.history_])
    assert np.all(np.isfinite(bounds))
    assert np.all(np.diff(bounds) >= -1e-9 * (1 + np.abs(bounds[1:])))
    assert model.n_components_ >= 1
    assert np.all(model.summary_.counts > 0)
    assert model.elbo_ == pytest.approx(bounds[-1], rel=1e-9)
    assert model.elbo_ == Mixture(model.family_, model.prior_).bound(model.summary_)
    held = len(X) if weight is None else weight.sum()
    assert model.summary_.counts.sum() == pytest.approx(held, rel=1e-9)
    most = model.prior_.most_clusters
    assert most is None or max(lap.n_components for lap in model.history_) <= max(most, options.get("n_components", 1))


def test_pairs_come_in_order_of_their_promise():
    """Of three copies of a cluster two are merged in a lap, the largest of the pairs first; the third waits."""
    X = np.random.default_rng(0).standard_normal((120, 2))
    model = bound_to("gaussian", X)
    resp = np.tile([0.5, 0.3, 0.2], (120, 1))
    s = model.summarize_given(X, Responsibilities.from_dense(resp), np.array([4, 2, 9]), Workspace())
    pairs = s.ids[merge.all_pairs(3)]
    share = dict(zip([4, 2, 9], [0.5, 0.3, 0.2], strict=True))

    def f(x):
        return 120 * x * np.log(x)

    overlaps = np.array([f(share[a] + share[b]) - f(share[a]) - f(share[b]) for a, b in pairs.tolist()])
    found = merge.choose_merges(model, s, pairs, overlaps)
    assert len(found.kept) == 1
    assert found.gain[0] > 0
    assert share[int(found.kept[0])] > share[int(found.gone[0])]


@pytest.mark.parametrize("rule", ["judged", "accepted"])
def test_a_birth_is_the_best_of_several_fresh_mixtures(monkeypatch, rule):
    X, _ = two_near_groups(apart=8.0)
    model, sample = bound_to("gaussian", X), Sample(X, np.ones(len(X)))
    cuts = [X[:, 0] > 6, X[:, 0] > 4, X[:, 0] > 7]
    tried = iter(cuts)

    def scripted(*_):
        resp = Responsibilities.from_dense(np.eye(2)[next(tried).astype(int)])
        return model.summarize_given(X, resp, np.arange(2), Workspace())

    monkeypatch.setattr(birth, "refined", scripted)
    hands = birth.OneHand(Workspace())
    rng = np.random.default_rng(0)
    s = create(model, sample, Moves(births=rule, fresh_starts=3), float(len(X)), rng, hands)
    assert sorted(s.counts) == sorted([np.sum(~cuts[1]), np.sum(cuts[1])])
    assert next(tried, None) is None
    tried = iter([np.zeros(len(X)), cuts[1], cuts[1]])
    assert create(model, sample, Moves(births=rule, fresh_starts=3), float(len(X)), rng, hands) is None
    assert len(list(tried)) == 2
