import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.patches import Ellipse
from scipy import sparse

from stickbreak import DPMixture, families
from stickbreak.errors import InputError, OptionError
from stickbreak.report import describe_clusters, plot_bound, plot_clusters, plot_weights
from stickbreak.report.plots import palette


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def blobs(n=60, d=3):
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(8 * k, 1, (n, d)) for k in range(3)])


def fitted(family, X, k=3):
    truth = np.repeat(np.arange(k), len(X) // k)
    return DPMixture(family, n_components=k, init=truth, moves="none", random_state=0).fit(X)


def told(model, most=3):
    return [row.distinguishing for row in describe_clusters(model, most)]


def test_sizes_and_weights_are_those_of_the_model():
    model = fitted("gaussian", blobs())
    rows = describe_clusters(model)
    assert [row.cluster for row in rows] == [0, 1, 2]
    np.testing.assert_allclose([row.size for row in rows], model.summary_.counts)
    assert sum(row.weight for row in rows) == pytest.approx(1.0)


@pytest.mark.parametrize("family", ["gaussian", "diagonal-gaussian"])
def test_differences_of_means_are_in_the_data_s_standard_deviations(family):
    X = blobs()[:, :2] * [1.0, 0.0] + [0.0, 5.0]
    X[:, 1] += np.random.default_rng(1).normal(0, 1e-3, len(X))
    model = fitted(family, X)
    low = int(np.argmin(model.means_[:, 0]))
    expected = (X[:60, 0].mean() - X[:, 0].mean()) / X[:, 0].std()
    assert told(model, 1)[low] == (f"column 0 {expected:+.1f} sd",)


def test_spread_is_told_where_means_are_alike():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, [0.1, 3], (200, 2)), rng.normal(0, [3, 0.1], (200, 2))])
    found = told(fitted("zero-mean-gaussian", X, 2))
    assert all("spread x" in phrase for phrases in found for phrase in phrases)
    assert {phrases[0].split()[1] for phrases in found} == {"0", "1"}


def test_flags_counts_and_words():
    rng = np.random.default_rng(0)
    flags = np.concatenate([rng.random((100, 2)) < p for p in ([0.9, 0.5], [0.1, 0.5])]).astype(float)
    assert any(p[0].startswith("column 0 ") and "% (overall " in p[0] for p in told(fitted("bernoulli", flags, 2)))
    counts = np.concatenate([rng.poisson(r, (100, 2)) for r in ([20, 3], [1, 3])])
    found = told(fitted("poisson", counts, 2))
    assert all(p[0].startswith("column 0 ") and len(p) == 1 for p in found)
    words = np.concatenate([rng.multinomial(50, p, 100) for p in ([0.7, 0.2, 0.1], [0.1, 0.2, 0.7])])
    found = told(fitted("multinomial", words, 2))
    assert {p[0].split(" x")[0] for p in found} == {"column 0", "column 2"}


def test_mixed_tables_use_names_and_categories():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    kind = np.repeat([0, 1], 100)
    town = np.where(rng.random(200) < 0.9, np.array(["Oslo", "Rome"])[kind], "Pisa")
    X = pd.DataFrame({"age": rng.normal(30, 1, 200), "town [home]": town, "member": kind == 0})
    found = told(fitted("mixed", X, 2))
    everything = " ".join(phrase for phrases in found for phrase in phrases)
    assert "town [home]=Oslo" in everything
    assert "town [home]=Rome" in everything
    assert "member 99% (overall 50%)" in everything


def test_codes_stand_for_categories_that_have_no_names():
    X = np.repeat([[0.0, 2.0], [1.0, 0.0]], 50, axis=0)
    found = told(fitted("categorical", X, 2), 1)
    assert {p[0].split("=")[0] for p in found} <= {"column 0", "column 1"}


def test_one_cluster_and_constant_columns_have_nothing_to_tell():
    X = np.column_stack([np.ones(50), np.random.default_rng(0).normal(size=50)])
    assert told(DPMixture(n_components=1, random_state=0).fit(X)) == [()]


def test_a_model_must_be_fitted():
    from sklearn.exceptions import NotFittedError

    for look in (describe_clusters, plot_bound, plot_weights):
        with pytest.raises(NotFittedError):
            look(DPMixture())


def test_the_bound_is_drawn_a_row_and_lap():
    model = fitted("gaussian", blobs())
    ax = plot_bound(model)
    x, y = ax.lines[0].get_data()
    assert list(x) == list(range(1, len(model.history_) + 1))
    assert y[-1] == pytest.approx(model.history_[-1].elbo / 180)


def test_a_bound_that_was_never_evaluated_is_an_error():
    a = fitted("gaussian", blobs())
    with pytest.raises(InputError, match="nothing to draw"):
        plot_bound(a.combine(a))


@pytest.mark.parametrize("k", [3, 12])
def test_weights_are_bars(k):
    X = np.random.default_rng(0).normal(size=(20 * k, 1)) + np.repeat(np.arange(k), 20)[:, None] * 50
    model = fitted("diagonal-gaussian", X, k)
    ax = plot_weights(model)
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], model.weights_)
    assert len(ax.texts) == len(model.weights_)


@pytest.mark.parametrize("n", [1, 10, 15, 20, 21, 60])
def test_clusters_have_colours_of_their_own(n):
    assert len(np.unique(palette(n), axis=0)) == n


def test_axes_given_are_drawn_in():
    _, ax = plt.subplots()
    model = fitted("gaussian", blobs())
    assert plot_clusters(model, blobs(), ax) is ax
    assert plot_weights(model, ax) is ax


@pytest.mark.parametrize("family", ["gaussian", "diagonal-gaussian", "zero-mean-gaussian"])
@pytest.mark.parametrize("d", [2, 5])
def test_gaussian_clusters_are_ellipses(family, d):
    X = blobs(d=d)
    model = fitted(family, X)
    ax = plot_clusters(model, X)
    assert sum(isinstance(patch, Ellipse) for patch in ax.patches) == np.sum(model.summary_.counts >= 0.5) >= 2
    assert len(ax.collections[0].get_offsets()) == 180


def test_ellipses_hold_their_rows():
    X = blobs(d=4)
    model = fitted("gaussian", X)
    for columns in (None, (1, 3)):
        ax = plot_clusters(model, X, columns=columns)
        points = np.asarray(ax.collections[0].get_offsets())
        for k, patch in enumerate(ax.patches):
            inside = patch.get_patch_transform().inverted().transform(points[model.labels_ == k])
            assert np.mean(np.sum(inside**2, axis=1) < 1) > 0.75  # 86% of a Gaussian lie within two sd


def test_other_families_are_points_alone():
    X = np.random.default_rng(0).poisson(np.repeat([[1.0, 9, 2], [9, 1, 5]], 50, axis=0))
    for family, rows in (("poisson", X), ("multinomial", X), ("multinomial", sparse.csr_array(X))):
        ax = plot_clusters(fitted(family, rows, 2) if rows is X else _refit(rows), rows)
        assert not ax.patches
        assert len(ax.texts) == 2


def _refit(rows):
    return DPMixture("multinomial", n_components=2, random_state=0, tol=1e-3).fit(rows)


def test_missing_cells_and_one_column_can_be_drawn():
    X = blobs(d=3)
    X[::7, 1] = np.nan
    plot_clusters(fitted("diagonal-gaussian", X), X)
    ax = plot_clusters(fitted("gaussian", blobs(d=1)), blobs(d=1))
    assert ax.get_ylabel() == "cluster"


def test_of_many_rows_a_sample_is_drawn():
    X = np.random.default_rng(0).normal(size=(25_000, 2))
    model = DPMixture(n_components=2, init=(X[:, 0] > 0).astype(int), tol=1e-2, random_state=0).fit(X)
    assert len(plot_clusters(model, X).collections[0].get_offsets()) == 8334


@pytest.mark.parametrize("columns", [(0,), (0, 3), (-1, 0), (0, 1, 2)])
def test_columns_out_of_range_are_refused(columns):
    with pytest.raises(OptionError, match="two column numbers from 0 to 2"):
        plot_clusters(fitted("gaussian", blobs()), blobs(), columns=columns)


def test_frames_name_the_axes():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(blobs(), columns=["a", "b", "c"])
    ax = plot_clusters(fitted(families.Gaussian(), X), X, columns=(2, 0))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("c", "a")
