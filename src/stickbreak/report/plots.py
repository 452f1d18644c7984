"""Pictures of fitted models. matplotlib is optional and imported here, inside functions, only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from stickbreak.errors import FileError, InputError
from stickbreak.report.projection import Projection, project

_BAR_NUMBERS = 30
"""Up to so many bars carry their sizes in words."""


def plot_bound(model: Any, ax: Any = None) -> Any:
    """Draw how the bound rose, lap by lap.

    Parameters
    ----------
    model : DPMixture
        A fitted model.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        The picture.

    Examples
    --------
    >>> import matplotlib, matplotlib.pyplot, numpy as np
    >>> matplotlib.use("Agg")
    >>> from stickbreak import DPMixture
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> plot_bound(DPMixture(n_components=3, random_state=0).fit(X)).get_xlabel()
    'lap'
    >>> matplotlib.pyplot.close("all")
    """
    check_is_fitted(model, "summary_")
    laps = [lap for lap in model.history_ if lap.elbo is not None]
    if not laps:
        raise InputError("the model has no laps whose bound was evaluated, so that there is nothing to draw.")
    ax = _axes(ax)
    rows = float(model.summary_.counts.sum())
    ax.plot([lap.lap for lap in laps], [lap.elbo / rows for lap in laps], marker="o", markersize=3, color="tab:blue")
    ax.set(xlabel="lap", ylabel="bound (nats a row)")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.ticklabel_format(axis="y", useOffset=False)
    _plain(ax)
    return ax


def plot_weights(model: Any, ax: Any = None) -> Any:
    """Draw the clusters' expected shares as bars.

    Parameters
    ----------
    model : DPMixture
        A fitted model.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        The picture.

    Examples
    --------
    >>> import matplotlib, matplotlib.pyplot, numpy as np
    >>> matplotlib.use("Agg")
    >>> from stickbreak import DPMixture
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> len(plot_weights(DPMixture(n_components=3, moves="none", random_state=0).fit(X)).patches)
    3
    >>> matplotlib.pyplot.close("all")
    """
    check_is_fitted(model, "summary_")
    ax = _axes(ax)
    n = model.n_components_
    bars = ax.bar(np.arange(n), model.weights_, color=palette(n))
    if n <= _BAR_NUMBERS:
        # Of many bars the sizes stand upright, or they would run into each other.
        turned = 90 if n > 8 else 0
        sizes = [f"{size:.0f}" for size in model.summary_.counts]
        ax.bar_label(bars, sizes, fontsize="small", padding=3, rotation=turned)
        ax.set_xticks(np.arange(n))
        ax.tick_params(axis="x", labelsize="small" if n > 15 else "medium", length=0)
        ax.margins(y=0.15)
    ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g}%")
    ax.set(xlabel="cluster", ylabel="share of the rows")
    _plain(ax)
    return ax


def plot_clusters(model: Any, X: Any, ax: Any = None, *, columns: Sequence[int] | None = None) -> Any:
    """Draw rows in two dimensions, coloured by cluster, and Gaussian clusters as ellipses of two standard deviations.

    Data of two columns are drawn as they are; those of more as two chosen columns or, by default, as their two leading
    principal components, the columns brought to the same spread. Of many rows a sample is drawn.

    Parameters
    ----------
    model : DPMixture
        A fitted model.
    X : array, frame or path
        The rows.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    columns : (int, int), optional
        Numbers of the columns to draw.

    Returns
    -------
    matplotlib Axes
        The picture.

    Examples
    --------
    >>> import matplotlib, matplotlib.pyplot, numpy as np
    >>> matplotlib.use("Agg")
    >>> from stickbreak import DPMixture
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = DPMixture(n_components=2, random_state=0).fit(X)
    >>> plot_clusters(model, X, columns=(0, 2)).get_ylabel()
    'column 2'
    >>> matplotlib.pyplot.close("all")
    """
    check_is_fitted(model, "summary_")
    picture = project(model, X, columns)
    ax = _axes(ax)
    colours = palette(model.n_components_)
    shown = len(picture.points)
    size = float(np.clip(4000 / max(shown, 1), 2, 25))
    ax.scatter(*picture.points.T, s=size, c=colours[picture.labels], alpha=0.6, linewidths=0, rasterized=shown > 2000)
    _draw_clusters(ax, picture, colours)
    ax.set(xlabel=picture.names[0], ylabel=picture.names[1])
    if picture.names[1] == "cluster":
        ax.yaxis.get_major_locator().set_params(integer=True)
    _plain(ax)
    return ax


def _draw_clusters(ax: Any, picture: Projection, colours: Any) -> None:
    """Ellipses where there are covariances, and each cluster's number in its middle."""
    from matplotlib.patches import Ellipse
    from matplotlib.patheffects import withStroke

    apart = len(picture.centres) < 2 or bool(np.ptp(list(picture.centres.values()), axis=0).any())
    for k, mean in picture.centres.items():
        spot = mean
        if picture.covariances is not None:
            values, vectors = np.linalg.eigh(picture.covariances[k])
            angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
            across, along = 4 * np.sqrt(np.maximum(values, 0.0))
            ax.add_patch(
                Ellipse(tuple(mean), along, across, angle=angle, fill=False, edgecolor=colours[k], linewidth=1.5)
            )
            # Clusters with one mean in common are numbered at the tips of their ellipses.
            spot = mean if apart else mean + along / 2 * vectors[:, 1]
        ax.annotate(
            str(k), spot, ha="center", va="center", fontsize="small", fontweight="bold", color="black",
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
        )  # fmt: skip
    ax.autoscale_view()


def palette(n: int) -> Any:
    """Choose a colour for each of n clusters, unlike those of its neighbours in number.

    Parameters
    ----------
    n : int
        How many.

    Returns
    -------
    ndarray of shape (n, 4)
        Red, green, blue and opacity.

    Examples
    --------
    >>> palette(3).shape
    (3, 4)
    """
    colormaps = _matplotlib().colormaps
    if n <= 10:
        return colormaps["tab10"](np.arange(n))
    if n <= 20:
        # The strong shades first: large clusters get them.
        return colormaps["tab20"](np.concatenate([np.arange(0, 20, 2), np.arange(1, 20, 2)])[:n])
    shades = np.concatenate([colormaps[name](np.arange(20)) for name in ("tab20", "tab20b", "tab20c")])
    # Steps of 7 (which 60 isn't a multiple of) go through all shades, and neighbours in number are of different hue.
    return shades[np.arange(n) * 7 % len(shades)]


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    _matplotlib()
    from matplotlib import pyplot as plt

    return plt.subplots(layout="constrained")[1]


def _plain(ax: Any) -> None:
    ax.spines[["top", "right"]].set_visible(False)


def _matplotlib() -> Any:
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise FileError('drawing needs matplotlib: pip install "stickbreak[plot]".') from error
    return mpl
