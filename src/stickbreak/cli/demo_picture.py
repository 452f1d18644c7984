"""The demo's picture: what each cluster looks like, and how the bound rose."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stickbreak.cli.digits import Digits, Verdict, judge
from stickbreak.core.arrays import Ints
from stickbreak.errors import FileError
from stickbreak.report.plots import plot_bound

if TYPE_CHECKING:
    from stickbreak import DPMixture

_ACROSS = 6


def draw(model: DPMixture, digits: Digits, labels: Ints, path: Path) -> None:
    """Draw the clusters' mean images above the bound of each lap.

    Parameters
    ----------
    model : DPMixture
        Fitted to `digits.rows`.
    digits : Digits
        The data.
    labels : ndarray of shape (n,)
        Each row's cluster.
    path : Path
        A .png file.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise FileError('the demo draws with matplotlib: pip install "stickbreak[plot]".') from error
    verdicts = judge(labels, digits.truth)
    down = -(-len(verdicts) // _ACROSS)
    # A figure without pyplot needs no display and leaves no trace in the process.
    figure = Figure(figsize=(1.6 * _ACROSS, 2.0 * down + 2.8), layout="constrained", dpi=120)
    above, below = np.asarray(figure.subfigures(2, 1, height_ratios=[2.0 * down, 2.6]))
    above.suptitle(f"{len(verdicts)} clusters of handwritten digits, found without labels: their mean images")
    images = digits.images(model.means_)
    for ax in above.subplots(down, _ACROSS, squeeze=False).flat:
        ax.axis("off")
    for ax, verdict in zip(above.axes, verdicts, strict=False):
        _image(ax, images[verdict.cluster], verdict)
    plot_bound(model, below.subplots())
    figure.savefig(path)


def _image(ax: Any, image: Any, verdict: Verdict) -> None:
    ax.imshow(image, cmap="gray_r", vmin=0, vmax=16, interpolation="bicubic")
    share = f"{100 * verdict.purity:.0f}%"
    ax.set_title(f"{verdict.cluster}: {verdict.size} rows\n{share} are {verdict.digit}s", fontsize="small")
