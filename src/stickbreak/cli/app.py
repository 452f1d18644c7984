"""The commands and their options. What they do is imported when it is asked for: help should come at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from stickbreak import __version__
from stickbreak.cli.trouble import guarded


class _Guarded(TyperGroup):
    """Commands whose errors are told in one line."""

    def invoke(self, ctx: Any) -> Any:
        with guarded(debug=bool(ctx.params.get("debug"))):
            return super().invoke(ctx)


app = typer.Typer(
    cls=_Guarded,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Data = Annotated[
    Path,
    typer.Argument(
        help="A .npy, .npz, .csv, .parquet, .arrow or .feather file, or a folder of files of one such kind."
    ),
]
Model = Annotated[Path, typer.Argument(help="A model that `stickbreak fit` wrote.")]
Columns = Annotated[str | None, typer.Option(metavar="A,B,C", help="Names of the columns to use; all by default.")]
Jobs = Annotated[int | None, typer.Option(help="Worker threads; all cores by default.", show_default=False)]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"stickbreak {__version__}")
        raise typer.Exit


@app.callback()
def _stickbreak(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from.")] = False,
) -> None:
    """Find clusters when nobody knows how many there are, in data of any size.

    Begin with `stickbreak demo`, which clusters real data and draws what it found. Then:

    - `stickbreak fit data.parquet --out model.stickbreak`

    - `stickbreak info model.stickbreak`

    - `stickbreak predict model.stickbreak new.parquet --out clusters.csv`
    """


@app.command()
def fit(
    data: Data,
    out: Annotated[Path, typer.Option(metavar="MODEL", help="File to write the model to.", show_default=False)],
    family: Annotated[
        str,
        typer.Option(
            help="What a cluster looks like: gaussian, diagonal-gaussian, zero-mean-gaussian, multinomial, "
            "categorical, bernoulli, poisson, or mixed (a table as it is, with text and missing cells)."
        ),
    ] = "gaussian",
    prior: Annotated[
        str, typer.Option(help="How rows are shared out: dirichlet-process, pitman-yor, beta-sticks, finite-dirichlet.")
    ] = "dirichlet-process",
    concentration: Annotated[
        str, typer.Option(metavar="NUMBER|learn", help="Readiness for new clusters, or `learn`.")
    ] = "1.0",
    algorithm: Annotated[str, typer.Option(help="memoized, full or stochastic.")] = "memoized",
    components: Annotated[
        int | None,
        typer.Option(
            help="Clusters to begin with: 1 where births find the others, else 20. Without births also the most.",
            show_default=False,
        ),
    ] = None,
    moves: Annotated[
        str,
        typer.Option(
            help="How the number of clusters changes: auto (birth-merge, but none in stochastic fits), birth-merge, "
            "merge, greedy-merge or none."
        ),
    ] = "auto",
    init: Annotated[str, typer.Option(help="Where to begin: k-means++, random or best-of-10.")] = "k-means++",
    blocks: Annotated[str, typer.Option(metavar="NUMBER|auto", help="Blocks that the data are visited in.")] = "auto",
    laps: Annotated[int, typer.Option(help="Largest number of laps over the data.")] = 100,
    tol: Annotated[float, typer.Option(help="End when a lap raises the bound by less, in nats a row.")] = 1e-5,
    columns: Columns = None,
    assignments: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write each row's cluster and its probability: .csv, .parquet or .npy."),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the run down as it goes; if the file is there, go on from it."),
    ] = None,
    checkpoint_seconds: Annotated[
        float | None, typer.Option(metavar="S", help="Write the checkpoint every so many seconds instead of every lap.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same model.")] = 0,
    jobs: Jobs = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show neither progress nor the table at the end.")] = False,
) -> None:
    """Find clusters in data and write a model.

    Ctrl-C ends the fit early and keeps what was learned: the model is written, and the exit code is 130.

    For example:

    - `stickbreak fit measurements.npy --out model.stickbreak`

    - `stickbreak fit customers.csv --family mixed --columns age,city,visits --out model.stickbreak`

    - `stickbreak fit night/ --moves merge --components 200 --blocks 50 --checkpoint run.checkpoint
    --out model.stickbreak --assignments clusters.parquet`
    """
    from stickbreak.cli.fit import Order, carry_out

    options = {
        "family": family,
        "prior": prior,
        "concentration": concentration,
        "algorithm": algorithm,
        "n_components": components,
        "moves": moves,
        "init": init,
        "n_blocks": blocks,
        "max_iter": laps,
        "tol": tol,
        "random_state": seed,
        "n_jobs": jobs,
    }
    carry_out(Order(data, out, options, columns, assignments, checkpoint, checkpoint_seconds, quiet))


@app.command()
def predict(
    model: Model,
    data: Data,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A .csv, .parquet or .npy file; CSV to standard output by default."),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(metavar="A,B,C", help="Names of the columns to use; those of the fit by default.")
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add each row's probability of each cluster.")
    ] = False,
    scores: Annotated[
        bool, typer.Option("--scores", help="Add each row's log density in nats; the lowest are outliers.")
    ] = False,
    jobs: Jobs = None,
) -> None:
    """Assign rows to a model's clusters.

    For example:

    - `stickbreak predict model.stickbreak new.parquet --out clusters.parquet`

    - `stickbreak predict model.stickbreak new.csv --scores | sort -t, -k3 -g | head`, the least likely rows
    """
    from stickbreak.cli.predict import carry_out

    carry_out(model, data, out, columns, probabilities=probabilities, scores=scores, jobs=jobs)


@app.command()
def info(
    model: Model,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Tell what a model is, and what sets each of its clusters apart.

    For example:

    - `stickbreak info model.stickbreak`

    - `stickbreak info model.stickbreak --json | jq '.clusters[0]'`
    """
    from stickbreak.cli.show import show_file

    show_file(model, json=json)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for what it makes.")] = Path("stickbreak-demo"),
) -> None:
    """Cluster 1797 handwritten digits that come with scikit-learn, and draw what was found.

    Takes some seconds and downloads nothing. The labels are not used for the clusters, only to judge them.

    For example:

    - `stickbreak demo --out /tmp/demo`
    """
    from stickbreak.cli.demo import carry_out

    carry_out(out)
