"""``stickbreak demo``: real data, a result that a person can judge, and a picture of it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from stickbreak import DPMixture
from stickbreak.cli.demo_picture import draw
from stickbreak.cli.digits import N_COMPONENTS, Digits, agreement, judge, most_common
from stickbreak.cli.output import Table, columns_of, write_tables
from stickbreak.cli.rows import answers
from stickbreak.cli.show import plain_table, to_stdout
from stickbreak.data import Source, open_source
from stickbreak.errors import FileError
from stickbreak.estimators.fitting import counted

SEEDS = 5
"""Fits to choose from: each begins with one cluster and finds the others, but not always the same ones."""


@dataclass(frozen=True, slots=True)
class _Files:
    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / "digits.csv"

    @property
    def model(self) -> Path:
        return self.folder / "model.stickbreak"

    @property
    def assignments(self) -> Path:
        return self.folder / "assignments.csv"

    @property
    def picture(self) -> Path:
        return self.folder / "clusters.png"


def carry_out(folder: Path) -> None:
    """Cluster the digits, show what was found, write it down."""
    console = to_stdout()
    files = _prepared(folder)
    digits = Digits.load()
    digits.write(files.data)
    console.print(
        f"{len(digits.rows)} images of handwritten digits, 8 x 8 pixels, reduced to their {N_COMPONENTS} leading\n"
        "principal components. Which digit an image shows is not told to the fit.\n",
        soft_wrap=True,
    )
    with open_source(files.data) as source:
        best = _search(source, console)
        found = [columns_of(part, probabilities=False) for part in answers(best, source)]
    table: Table = {name: np.concatenate([part[name] for part in found]) for name in found[0]}
    best.save(files.model)
    write_tables([{**table, "digit": digits.truth}], files.assignments, len(digits.truth))
    _judge(digits, table["cluster"], console)
    draw(best, digits, table["cluster"], files.picture)
    _tell_files(files, console)


def _prepared(folder: Path) -> _Files:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"can't make the folder --out {folder}: {error.strerror}.") from error
    return _Files(folder)


def _search(source: Source, console: Console) -> DPMixture:
    """Fit from several seeds, and keep the model with the highest bound: bounds of different sizes are comparable."""
    models: list[DPMixture] = []
    columns = (BarColumn(bar_width=20), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("starting", total=SEEDS)
        for seed in range(SEEDS):
            models.append(DPMixture(max_iter=300, random_state=seed).fit(source))
            if models[-1].interrupted_:
                raise KeyboardInterrupt
            progress.update(task, advance=1, description=f"seed {seed}: {models[-1].n_components_} clusters")
    winner = max(models, key=lambda model: model.elbo_)
    shown = plain_table("seed", "clusters found", "laps", "bound, nats a row")
    shown.add_column("")
    for seed, model in enumerate(models):
        kept = "kept: the highest" if model is winner else ""
        bound = f"{model.elbo_ / counted(source):.3f}"
        shown.add_row(str(seed), str(model.n_components_), str(model.n_iter_), bound, kept)
    console.print(shown)
    console.print()
    return winner


def _judge(digits: Digits, labels: np.ndarray, console: Console) -> None:
    verdicts = judge(labels, digits.truth)
    table = plain_table("cluster", "size", "mostly", "purity")
    table.add_column("and")
    for v in verdicts:
        others = ", ".join(f"{count} of {digit}" for digit, count in v.others)
        table.add_row(str(v.cluster), str(v.size), str(v.digit), f"{100 * v.purity:.0f}%", others)
    console.print(table)
    ari, nmi = agreement(labels, digits.truth)
    right = sum(v.purity * v.size for v in verdicts) / len(labels)
    console.print(
        f"\n{len(verdicts)} clusters, {len(most_common(verdicts))} of the 10 digits; {100 * right:.0f}% of the images "
        f"lie in a cluster of their own digit.\nAgreement with the labels: adjusted Rand index {ari:.2f}, "
        f"normalised mutual information {nmi:.2f} (1 is perfect).\n",
        soft_wrap=True,
    )


def _tell_files(files: _Files, console: Console) -> None:
    told = {
        files.model: "the fitted model",
        files.assignments: "each image's cluster, its probability, and the digit",
        files.picture: "the mean image of each cluster: look at it first",
        files.data: "the data, to try the commands on",
    }
    width = max(len(str(path)) for path in told)
    console.print("Written:")
    for path, what in told.items():
        console.print(f"  {path!s:<{width}}  {what}", soft_wrap=True)
    model, data = shlex.quote(str(files.model)), shlex.quote(str(files.data))
    console.print("\nTry next:")
    console.print(f"  stickbreak info {model}", soft_wrap=True)
    console.print(f"  stickbreak predict {model} {data} --scores | head", soft_wrap=True)
    console.print(f"  stickbreak fit {data} --out my.stickbreak", soft_wrap=True)
