"""Births and merges as users meet them: the number of clusters found, from nothing, by fits that stop by themselves."""

import numpy as np
import pandas as pd
import pytest
from children import run_child
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

import stickbreak as sb
from stickbreak import priors
from stickbreak.core import family as core_family
from stickbreak.errors import OptionError
from stickbreak.moves.options import Moves


def gaussian(rng):
    z = rng.integers(0, 5, 800)
    return rng.standard_normal((800, 2)) + 9.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1], [2, 2]])[z], z


def zero_mean(rng):
    z = rng.integers(0, 3, 900)
    return rng.standard_normal((900, 6)) * (1.0 + 14.0 * np.repeat(np.eye(3), 2, axis=1)[z]), z


def bars(rng):
    z = rng.integers(0, 4, 600)
    shares = np.full((4, 16), 0.01) + np.repeat(np.eye(4), 4, axis=1)
    return np.stack([rng.multinomial(60, shares[k] / shares[k].sum()) for k in z]).astype(float), z


def patterns(rng):
    z = rng.integers(0, 4, 800)
    return (rng.random((800, 20)) < np.repeat(np.eye(4), 5, axis=1)[z] * 0.9 + 0.05).astype(float), z


def poisson(rng):
    z = rng.integers(0, 4, 800)
    return rng.poisson(np.array([[2, 50], [50, 2], [60, 60], [3, 4]])[z]).astype(float), z


def mixed(rng):
    z = rng.integers(0, 3, 600)
    names = np.array(["red", "green", "blue"])[np.where(rng.random(600) < 0.95, z, rng.integers(0, 3, 600))]
    return pd.DataFrame({"size": rng.normal(9.0 * z, 1.0), "colour": names, "age": rng.normal(-8.0 * z, 1.0)}), z


TRUTHS = {
    "gaussian": ("gaussian", gaussian, 5),
    "diagonal": ("diagonal-gaussian", gaussian, 5),
    "zero-mean": ("zero-mean-gaussian", zero_mean, 3),
    "bars": ("multinomial", bars, 4),
    "sparse-bars": ("multinomial", lambda rng: (sparse.csr_array((made := bars(rng))[0]), made[1]), 4),
    "patterns": ("bernoulli", patterns, 4),
    "poisson": ("poisson", poisson, 4),
    "mixed": ("mixed", mixed, 3),
}


def bits(model):
    s = model.summary_
    laps = [(lap.elbo, lap.births_tried, lap.births_kept, lap.merges_tried, lap.merges_kept) for lap in model.history_]
    return s.stats.tobytes(), s.entropy.tobytes(), s.ids.tolist(), model.elbo_, model.labels_.tobytes(), laps


def groups(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 4, n)
    return rng.standard_normal((n, 2)) + 5.0 * np.array([[0, 0], [1, 0], [0, 1], [2, 2]])[z]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", TRUTHS)
def test_the_number_of_clusters_is_found(name, seed):
    """From no number at all; the fit stops by itself, and going on from it ends soon where it is."""
    family, make, n_clusters = TRUTHS[name]
    X, z = make(np.random.default_rng(seed))
    model = sb.DPMixture(family, random_state=seed).fit(X)
    assert model.n_components_ == n_clusters
    assert adjusted_rand_score(z, model.labels_) > 0.95
    assert model.converged_
    assert model.n_iter_ <= 50
    again = sb.DPMixture(family, init=model, random_state=seed + 1).fit(X)
    assert again.n_components_ == n_clusters
    assert again.converged_
    assert again.n_iter_ <= 15
    assert again.elbo_ == pytest.approx(model.elbo_, rel=1e-4)


@pytest.mark.parametrize("name", ["gaussian", "poisson"])
def test_many_clusters_too_many_to_begin_with_are_merged(name):
    family, make, n_clusters = TRUTHS[name]
    X, z = make(np.random.default_rng(7))
    model = sb.DPMixture(family, moves="merge", n_components=20, random_state=0).fit(X)
    assert adjusted_rand_score(z, model.labels_) > 0.95
    assert model.n_components_ == n_clusters


@pytest.mark.parametrize("name", ["gaussian", "bars", "sparse-bars", "patterns", "poisson", "mixed"])
def test_any_number_of_workers_finds_the_same_bits(monkeypatch, name):
    monkeypatch.setattr(core_family, "TILE_BYTES", 1)
    family, make, _ = TRUTHS[name]
    X, _ = make(np.random.default_rng(0))
    options = {"moves": Moves(sample_rows=300), "n_blocks": 3, "max_iter": 15, "random_state": 0}
    one, two, three = (sb.DPMixture(family, n_jobs=jobs, **options).fit(X) for jobs in (1, 2, 3))
    assert sum(lap.births_kept for lap in one.history_) > 0
    assert bits(one) == bits(two) == bits(three)


@pytest.mark.parametrize("name", ["gaussian", "bars", "sparse-bars", "patterns", "poisson"])
def test_weight_two_is_the_row_twice(name):
    family, make, _ = TRUTHS[name]
    X = make(np.random.default_rng(1))[0][:120]
    times = np.random.default_rng(2).integers(0, 3, 120)
    weighted = sb.DPMixture(family, random_state=0, tol=1e-9).fit(X, sample_weight=times.astype(float))
    repeated = sb.DPMixture(family, random_state=0, tol=1e-9).fit(X[np.repeat(np.arange(120), times)])
    assert weighted.n_components_ == repeated.n_components_
    assert weighted.elbo_ == pytest.approx(repeated.elbo_, rel=1e-6)
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


def test_files_and_single_precision_find_the_same_clusters(tmp_path):
    X = groups()
    np.save(tmp_path / "rows.npy", X)
    np.save(tmp_path / "single.npy", X.astype(np.float32))
    model = sb.DPMixture(n_blocks=3, random_state=0).fit(X)
    assert model.n_components_ == 4
    for given in (tmp_path / "rows.npy", tmp_path / "single.npy", X.astype(np.float32)):
        other = sb.DPMixture(n_blocks=3, random_state=0).fit(given)
        assert other.n_components_ == 4
        assert other.elbo_ == pytest.approx(model.elbo_, rel=1e-5)
        assert adjusted_rand_score(model.labels_, other.predict(X)) > 0.99


@pytest.mark.parametrize("name", ["gaussian", "sparse-bars"])
def test_every_lap_is_a_place_to_go_on_from(tmp_path, name):
    family, make, _ = TRUTHS[name]
    X, _ = make(np.random.default_rng(0))

    def fit(stop=None, path=None):
        callbacks = None if stop is None else lambda lap: lap.lap >= stop
        model = sb.DPMixture(family, n_blocks=3, random_state=0, callbacks=callbacks, n_jobs=1)
        return model.fit(X, checkpoint=path)

    alone = fit()
    assert sum(lap.births_kept for lap in alone.history_) > 0
    chain = tmp_path / "chain"
    for stop in range(1, alone.n_iter_):
        path = tmp_path / f"run{stop}"
        fit(stop, path)
        fit(stop, chain)
        assert bits(fit(path=path)) == bits(alone)
    assert bits(fit(path=chain)) == bits(alone)


CHILD = """
import sys
import numpy as np
from scipy import sparse
import stickbreak as sb
path, kind = sys.argv[1:]
X = np.load(path + ".npy")
X, family = (sparse.csr_array(X), "multinomial") if kind == "sparse" else (X, "gaussian")
model = sb.DPMixture(family, n_blocks=6, max_iter=30, tol=0, random_state=3, n_jobs=1)
model.fit(X, checkpoint=sb.Checkpoint(path, every_seconds=0))
print(model.elbo_.hex(), model.summary_.ids.tolist(), model.summary_.stats.sum().hex())
"""


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_killed_in_the_middle_of_births(tmp_path, kind):
    X = groups(2000) if kind == "dense" else bars(np.random.default_rng(0))[0]
    alone, path = tmp_path / "alone", tmp_path / "killed"
    for place in (alone, path):
        np.save(f"{place}.npy", X)
    expected = run_child(CHILD, alone, kind)
    assert expected
    rng = np.random.default_rng(1)
    assert sum(run_child(CHILD, path, kind, kill_after=rng.uniform(0, 0.04)) == "" for _ in range(2)) > 0
    assert run_child(CHILD, path, kind) == expected


MOVES = [
    Moves(births="accepted"),
    Moves(merges="drawn"),
    Moves(merges="greedy"),
    Moves(target="uniform"),
    Moves(births_per_lap=2),
    Moves(births="accepted", merges="drawn", target="uniform", births_per_lap=2),
]


@pytest.mark.parametrize("moves", MOVES, ids=str)
@pytest.mark.parametrize("n_blocks", [1, 4])
def test_other_rules_find_well_separated_clusters_too(moves, n_blocks):
    X, z = gaussian(np.random.default_rng(3))
    model = sb.DPMixture(moves=moves, n_blocks=n_blocks, random_state=0).fit(X)
    assert model.converged_
    assert adjusted_rand_score(z, model.labels_) > 0.9


@pytest.mark.parametrize("most", [1, 2, 3, 5, 8])
def test_there_are_no_births_beyond_the_most_clusters(most):
    X, _ = gaussian(np.random.default_rng(0))
    for given in ({"moves": Moves(max_components=most)}, {"prior": priors.FiniteDirichlet(n_components=most)}):
        for births in ("judged", "accepted"):
            moves = Moves(births=births, max_components=given["moves"].max_components if "moves" in given else None)
            model = sb.DPMixture(random_state=0, n_blocks=2, **{**given, "moves": moves}).fit(X)
            assert max(lap.n_components for lap in model.history_) <= most


@pytest.mark.parametrize("most", [2, 3, 5])
@pytest.mark.parametrize("by", ["moves", "prior"])
def test_as_many_clusters_as_there_may_be_are_found(by, most):
    """A limit leaves room for births up to it: five far groups never end as one."""
    X, _ = gaussian(np.random.default_rng(0))
    limit = {"moves": Moves(max_components=most)} if by == "moves" else {"prior": priors.FiniteDirichlet(most)}
    model = sb.DPMixture(random_state=0, **limit).fit(X)
    assert model.n_components_ == most


def test_births_whose_clusters_stay_are_counted():
    """Accepted births stay, whether or not the bound rose: what is kept is what is there."""
    rng = np.random.default_rng(0)
    z = rng.integers(0, 3, 600)
    X = rng.standard_normal((600, 2)) + 8.0 * np.array([[0, 0], [1, 0], [0, 1]])[z]
    model = sb.DPMixture(moves=Moves(births="accepted", merges=None), n_blocks=1, random_state=0).fit(X)
    sizes = [lap.n_components for lap in model.history_]
    for lap, before in zip(model.history_[1:], sizes, strict=False):
        assert lap.births_kept > 0 or lap.n_components <= before


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("births", "juged", "Did you mean 'judged'"),
        ("merges", "rankd", "Did you mean 'ranked'"),
        ("target", "unifrom", "Did you mean 'uniform'"),
        ("births_per_lap", 0, "at least 1"),
        ("sample_rows", 1.5, "whole number"),
        ("max_components", True, "whole number"),
        ("fresh_components", 1, "at least 2"),
        ("fresh_laps", 0, "at least 1"),
        ("patience", 0, "at least 1"),
        ("threshold", 1.0, "between 0 and 1"),
        ("threshold", np.nan, "between 0 and 1"),
        ("least_share", "much", "between 0 and 1"),
    ],
)
def test_wrong_options_are_named(option, value, told):
    with pytest.raises(OptionError, match=f"(?s){option}=.*{told}"):
        Moves(**{option: value})


@pytest.mark.parametrize("moves", ["birth-merge", "merge", Moves()], ids=str)
def test_stochastic_inference_has_no_moves(moves):
    X = groups(60)
    with pytest.raises(OptionError, match="stochastic"):
        sb.DPMixture(algorithm="stochastic", moves=moves).fit(X)
    assert sb.DPMixture(algorithm="stochastic", max_iter=2, tol=0, n_components=3).fit(X).n_components_ <= 3
