"""The estimator as people use it."""

import pickle
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import stickbreak as sb
from stickbreak import families
from stickbreak.errors import InputError, OptionError, SchemaError, StickbreakError


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(m, 1, (n, 2)) for m, n in ((-6, 300), (0, 200), (6, 100))])


def model(family="gaussian", **options):
    return sb.DPMixture(family, **{"n_components": 3, "random_state": 0, "tol": 1e-4, **options})


def test_what_a_fit_leaves(rows):
    m = model().fit(rows)
    assert m.n_components_ == 3
    np.testing.assert_allclose(m.weights_, [1 / 2, 1 / 3, 1 / 6], atol=0.01)
    np.testing.assert_allclose(m.means_[:, 0], [-6, 0, 6], atol=0.3)
    assert m.covariances_.shape == (3, 2, 2)
    assert m.labels_.tolist() == np.repeat([0, 1, 2], [300, 200, 100]).tolist()
    assert m.converged_
    assert m.n_iter_ == len(m.history_) == m.history_[-1].lap
    assert m.history_[-1].elbo == m.elbo_
    assert m.summary_.counts.sum() == pytest.approx(600)
    moves = ["births_tried", "births_kept", "merges_tried", "merges_kept"]
    assert list(m.history_.to_frame().columns) == ["lap", "n_components", "elbo", "seconds", *moves]
    assert m.concentration_ == 1.0
    np.testing.assert_array_equal(m.predict(rows), m.labels_)
    np.testing.assert_array_equal(m.predict_proba(rows).argmax(axis=1), m.labels_)
    np.testing.assert_allclose(m.transform(rows).sum(axis=1), 1)
    assert m.score(rows) == pytest.approx(m.score_samples(rows).mean())


def test_density_integrates_to_one(rows):
    m = model(concentration=5.0).fit(rows[::20])
    axis = np.linspace(-400, 400, 2401)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    assert np.exp(m.score_samples(grid)).sum() * (axis[1] - axis[0]) ** 2 == pytest.approx(1, abs=0.02)


def test_samples_look_like_the_data(rows):
    m = model().fit(rows)
    X, z = m.sample(20_000)
    for k in range(3):
        np.testing.assert_allclose(X[z == k].mean(axis=0), m.means_[k], atol=0.1)
    np.testing.assert_allclose(np.bincount(z) / 20_000, m.weights_, atol=0.02)
    assert m.sample(3)[0].shape == (3, 2)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames(rows, frame):
    X = frame({"a": rows[:, 0], "b": rows[:, 1]})
    m = model().fit(X)
    assert m.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(m.predict(X), model().fit(rows).labels_)
    with pytest.raises(InputError, match="feature names"):
        m.predict(pd.DataFrame(rows, columns=["a", "c"]))
    assert list(m.set_output(transform="pandas").transform(X).columns) == [f"dpmixture{k}" for k in range(3)]


def test_a_table_as_it_is():
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 400)
    table = pd.DataFrame(
        {
            "size": rng.normal(10 * z, 1.0),
            "visits": rng.poisson(np.where(z, 20, 2)),
            "member": rng.random(400) < np.where(z, 0.9, 0.1),
            "city": np.where(rng.random(400) < 0.9, np.where(z, "Oslo", "Lima"), "Rome"),
        }
    )
    table.loc[::7, "city"] = None
    table.loc[::5, "size"] = np.nan
    m = model("mixed", n_components=2).fit(table)
    assert max(np.mean(m.labels_ == z), np.mean(m.labels_ != z)) > 0.97
    np.testing.assert_array_equal(m.predict(table[["city", "size", "member", "visits"]]), m.labels_)
    with pytest.raises(SchemaError, match="Paris"):
        m.predict(table.assign(city="Paris"))


def test_pipelines_and_searches(rows):
    pipe = make_pipeline(StandardScaler(), model())
    assert pipe.fit(rows).predict(rows).shape == (600,)
    folds = KFold(2, shuffle=True, random_state=0)
    search = GridSearchCV(model(moves="none", tol=1e-2), {"n_components": [1, 3]}, cv=folds).fit(rows)
    assert search.best_params_ == {"n_components": 3}
    assert clone(model(family=families.Gaussian(dof=7.0))).family.dof == 7.0


@pytest.mark.parametrize("family", ["poisson", "multinomial", "categorical", "bernoulli"])
def test_counts(family):
    rng = np.random.default_rng(1)
    z = np.repeat([0, 1], 100)
    rates = np.array([[5, 5, 0.5, 0.5], [0.5, 0.5, 5, 5]])
    X = np.minimum(rng.poisson(rates[z]), 1 if family == "bernoulli" else 8)
    m = model(family, n_components=2, moves="none").fit(X)
    assert max(np.mean(m.labels_ == z), np.mean(m.labels_ != z)) > 0.9
    assert np.all(np.isfinite(m.score_samples(X)))
    if family == "multinomial":
        again = model(family, n_components=2, moves="none").fit(sp.csr_array(X))
        assert again.elbo_ == pytest.approx(m.elbo_)
        np.testing.assert_array_equal(again.predict(sp.coo_array(X)), m.labels_)


def test_ways_to_start(rows):
    truth = np.repeat([0, 1, 2], [300, 200, 100])
    best = model(init=truth).fit(rows)
    resp = np.eye(3)[truth]
    assert model(init=resp).fit(rows).elbo_ == pytest.approx(best.elbo_)
    assert model(init=best, moves="none").fit(rows).n_iter_ <= 2
    for init in ("k-means++", "random", sb.BestOf(3), sb.RandomRows()):
        assert model(init=init).fit(rows).elbo_ <= best.elbo_ + 1e-6 * 600
    partial = np.where(np.arange(600) % 3 == 0, truth, -1)
    assert model(init=partial).fit(rows).elbo_ == pytest.approx(best.elbo_, abs=0.1)


def test_warm_start_goes_on(rows):
    m = model(max_iter=2, tol=0, warm_start=True).fit(rows)
    first = m.elbo_
    assert m.fit(rows).elbo_ >= first


def test_files_and_blocks_give_what_the_array_gives(rows, tmp_path):
    np.save(tmp_path / "rows.npy", rows)
    pd.DataFrame(rows, columns=["a", "b"]).to_parquet(tmp_path / "rows.parquet")
    pd.DataFrame(rows, columns=["a", "b"]).to_csv(tmp_path / "rows.csv", index=False)
    expected = model().fit(rows)
    for data in (
        tmp_path / "rows.npy",
        str(tmp_path / "rows.parquet"),
        tmp_path / "rows.csv",
        [rows[:100], rows[100:]],
    ):
        m = model(n_blocks=1).fit(data)
        assert m.elbo_ == pytest.approx(expected.elbo_)
        np.testing.assert_array_equal(m.predict(data), expected.labels_)
        np.testing.assert_allclose(m.score_samples(data), expected.score_samples(rows))
    assert not hasattr(model().fit(tmp_path / "rows.npy"), "labels_")


def test_models_of_different_rows_add_up(rows):
    a = model(max_iter=100).fit(rows[::2])
    b = model(family=a.family_, init=a).fit(rows[1::2])
    same, apart = a.combine(b, clusters="same"), a.combine(b)
    assert same.n_components_ == 3
    assert apart.n_components_ == 6
    assert same.summary_.counts.sum() == pytest.approx(600)
    assert same.elbo_ == pytest.approx(model().fit(rows).elbo_, rel=0.02)
    with pytest.raises(OptionError, match="different priors"):
        a.combine(model().fit(rows[1::2]))


@pytest.mark.parametrize("family", ["gaussian", "diagonal-gaussian", "mixed"])
def test_saved_and_loaded(rows, tmp_path, family):
    X = pd.DataFrame({"a": rows[:, 0], "b": rows[:, 1]})
    m = model(family, concentration="learn", prior="pitman-yor").fit(X)
    m.save(tmp_path / "m")
    for again in (sb.load(tmp_path / "m"), pickle.loads(pickle.dumps(m))):
        np.testing.assert_array_equal(again.predict_proba(X), m.predict_proba(X))
        np.testing.assert_array_equal(again.score_samples(X), m.score_samples(X))
        assert again.history_ == m.history_
        assert again.elbo_ == m.elbo_
        assert again.concentration_ == m.concentration_
        assert again.feature_names_in_.tolist() == ["a", "b"]
        assert repr(again) == repr(m)


def test_options_that_no_file_holds(rows, tmp_path):
    m = model(callbacks=[print], init=np.zeros(600, int), random_state=np.random.default_rng(0)).fit(rows)
    m.save(tmp_path / "m")
    again = sb.load(tmp_path / "m")
    assert again.callbacks is None
    assert again.init == "k-means++"


@pytest.mark.parametrize("damage", ["truncated", "altered", "foreign", "empty", "pickle"])
def test_damaged_files_say_so(rows, tmp_path, damage):
    path = tmp_path / "m"
    model().fit(rows).save(path)
    whole = path.read_bytes()
    path.write_bytes(
        {
            "truncated": whole[: len(whole) // 2],
            "altered": whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:],
            "foreign": b"PK\x03\x04" + bytes(200),
            "empty": b"",
            "pickle": pickle.dumps({"a": 1}),
        }[damage]
    )
    with pytest.raises(sb.errors.FormatError, match=r"damaged|altered"):
        sb.load(path)


def test_every_byte_counts(rows, tmp_path):
    path = tmp_path / "m"
    model().fit(rows[:50]).save(path)
    whole = path.read_bytes()
    for at in np.random.default_rng(0).integers(0, len(whole), 200):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x15]) + whole[at + 1 :])
        with pytest.raises(sb.errors.FormatError):
            sb.load(path)


def test_same_bits_for_any_number_of_workers():
    X = np.random.default_rng(0).normal(size=(20_000, 6))
    fits = [model(n_components=8, n_jobs=n, n_blocks=3, max_iter=4, tol=0).fit(X) for n in (1, 2, 5)]
    for other in fits[1:]:
        assert other.elbo_ == fits[0].elbo_
        np.testing.assert_array_equal(other.summary_.stats, fits[0].summary_.stats)


def test_callbacks_end_a_fit(rows):
    seen = []

    def stop(lap):
        seen.append(lap)
        return lap.lap == 2

    m = model(tol=0, callbacks=stop).fit(rows)
    assert [lap.lap for lap in seen] == [1, 2]
    assert not m.converged_


def test_a_lap_too_few_is_told(rows):
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        model(n_components=8, max_iter=2, tol=1e-9).fit(rows)


INTERRUPT = """
import os, signal, sys, warnings
import numpy as np
import stickbreak as sb
X = np.random.default_rng(0).normal(size=(20000, 5))
def interrupt(lap):
    if lap.lap == 3:
        os.kill(os.getpid(), signal.SIGINT)
model = sb.DPMixture(n_components=5, algorithm=sys.argv[1], tol=0, max_iter=10**6, callbacks=interrupt, random_state=0)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    model.fit(X)
print(told[0].message, model.labels_.shape, model.n_iter_, np.isfinite(model.score(X)))
"""


@pytest.mark.parametrize("algorithm", ["memoized", "full", "stochastic"])
def test_ctrl_c_keeps_what_was_learned(algorithm):
    out = subprocess.run(
        [sys.executable, "-c", INTERRUPT, algorithm], capture_output=True, text=True, check=True
    ).stdout
    assert "interrupted after 3 of at most 1000000 laps" in out
    assert "(20000,)" in out
    assert out.strip().endswith("True")


def test_no_thread_is_left(rows):
    before = threading.active_count()
    model(n_jobs=3).fit(rows)
    assert threading.active_count() == before


def test_progress_in_a_log(rows, capsys):
    model(verbose=1).fit(rows)
    lines = capsys.readouterr().err.splitlines()
    assert "nats a row" in lines[0]
    assert lines[-1].startswith("converged after")
    model().fit(rows)
    assert capsys.readouterr().err == ""


WRONG = {
    "family": "gausian",
    "algorithm": "memoised",
    "init": "kmeans++",
    "prior": "dirichlet-proces",
    "concentration": -1,
    "n_components": 0,
    "moves": "births",
    "n_blocks": "many",
    "max_iter": 2.5,
    "tol": -1,
    "resp_per_row": 0,
    "learning_rate": (1, 2, 3),
    "random_state": "x",
    "n_jobs": 0,
    "callbacks": 3,
}


@pytest.mark.parametrize("option", WRONG)
def test_wrong_options_are_named(rows, option):
    with pytest.raises(OptionError, match=option):
        sb.DPMixture(**{option: WRONG[option]}).fit(rows)


@pytest.mark.parametrize("option", ["family", "algorithm", "init", "prior", "moves"])
def test_the_nearest_option_is_named(rows, option):
    with pytest.raises(OptionError, match="Did you mean"):
        sb.DPMixture(**{option: WRONG[option]}).fit(rows)


def test_bad_cells_are_named(rows):
    X = rows.copy()
    X[17, 1] = np.nan
    with pytest.raises(StickbreakError, match=r"NaN: row 17, column 1 .*diagonal-gaussian"):
        model().fit(X)
    assert model("diagonal-gaussian").fit(X).labels_.shape == (600,)
    X[17, 1] = np.inf
    with pytest.raises(StickbreakError, match="infinity in row 17, column 1"):
        model("diagonal-gaussian").fit(X)
    with pytest.raises(StickbreakError, match="row 0, column 0"):
        model("poisson").fit(rows)
    with pytest.raises(StickbreakError, match="row 0, column 1 has a fraction"):
        model("poisson").fit(np.array([[1.0, 2.5], [2.0, 3.0]]))


def test_before_fit_there_is_nothing(rows):
    for method in ("predict", "predict_proba", "score_samples", "transform", "score"):
        with pytest.raises(NotFittedError):
            getattr(model(), method)(rows)
    with pytest.raises(NotFittedError):
        model().sample()


EDGES = {
    "one row": np.ones((1, 3)),
    "one column": np.arange(20.0).reshape(-1, 1),
    "constant": np.full((30, 2), 7.0),
    "duplicates": np.repeat(np.eye(3), 20, axis=0),
    "collinear": np.outer(np.arange(30.0), [1, 2, 3]),
    "wide": np.random.default_rng(0).normal(size=(10, 100)),
    "few rows": np.random.default_rng(0).normal(size=(4, 2)),
    "far": np.random.default_rng(0).normal(size=(50, 2)) + 1e9,
    "large and small": np.random.default_rng(0).normal(size=(50, 2)) * [1e-8, 1e8],
}


@pytest.mark.parametrize("family", ["gaussian", "zero-mean-gaussian", "diagonal-gaussian"])
@pytest.mark.parametrize("name", EDGES)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_edges_work_as_mathematics_says(family, name):
    X = EDGES[name]
    m = sb.DPMixture(family, n_components=6, random_state=0, max_iter=30).fit(X)
    assert np.isfinite(m.elbo_)
    assert np.all(np.isfinite(m.score_samples(X)))
    elbo = np.array([lap.elbo for lap in m.history_])
    assert np.all(np.diff(elbo) >= -1e-9 * np.abs(elbo[1:]).max() - 1e-9)
