import json
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("pyarrow")

import pyarrow.parquet
from pyarrow import csv
from scipy import sparse
from typer.testing import CliRunner

import stickbreak
from stickbreak import DPMixture, families, load
from stickbreak.cli import demo as demo_module
from stickbreak.cli import output, rows
from stickbreak.cli.app import app
from stickbreak.cli.digits import judge
from stickbreak.estimators import fitting
from stickbreak.estimators.options import ALGORITHMS, PRIORS
from stickbreak.moves import seeding

NAMES = ["a", "b", "c"]


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.stderr + repr(result.exception)
    return result


def blobs(n=50):
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(8 * k, 1, (n, 3)) for k in range(3)])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("data.npy", blobs())
    header = ",".join(NAMES)
    np.savetxt("data.csv", blobs(), delimiter=",", header=header, comments="", fmt="%.17g")
    town = np.repeat(["Oslo", "Rome", "Pisa"], 50)
    lines = [f"{x:.17g},{t},r{i}" for i, (x, t) in enumerate(zip(blobs()[:, 0], town, strict=True))]
    (tmp_path / "towns.csv").write_text("\n".join(["height,town,id", *lines]) + "\n")
    return tmp_path


@pytest.fixture
def model(folder):
    run("fit", "data.npy", "--out", "m.sb", "--components", 3, "--quiet")
    return load("m.sb")


# fit


def test_fit_writes_the_model_that_the_estimator_makes(folder):
    run("fit", "data.npy", "--out", "m.sb", "--components", 5, "--seed", 3, "--concentration", 2.5, "--jobs", 1)
    mine, theirs = load("m.sb"), DPMixture(n_components=5, random_state=3, concentration=2.5).fit("data.npy")
    assert mine.elbo_ == theirs.elbo_
    assert mine.concentration == 2.5


def test_fit_shows_progress_on_stderr_and_a_table_on_stdout(folder):
    result = run("fit", "data.csv", "--out", "m.sb", "--components", 3)
    assert "lap" in result.stderr
    assert "what sets it apart" in result.stdout
    assert " sd" in result.stdout
    assert "m.sb" in result.stdout


def test_quiet_says_nothing(folder):
    result = run("fit", "data.npy", "--out", "m.sb", "--components", 3, "--quiet")
    assert (result.stdout, result.stderr) == ("", "")


def test_every_option_reaches_the_estimator(folder):
    run(
        *("fit", "data.npy", "--out", "m.sb", "--family", "diagonal-gaussian", "--prior", "pitman-yor"),
        *("--concentration", "learn", "--algorithm", "stochastic", "--components", 4, "--init", "random"),
        *("--blocks", 3, "--laps", 2, "--tol", 0, "--seed", 5, "--jobs", 1),
    )
    given = load("m.sb").get_params()
    expected = {
        "family": "diagonal-gaussian",
        "prior": "pitman-yor",
        "concentration": "learn",
        "algorithm": "stochastic",
        "n_components": 4,
        "init": "random",
        "n_blocks": 3,
        "max_iter": 2,
        "tol": 0.0,
        "random_state": 5,
    }
    assert {name: given[name] for name in expected} == expected


def test_columns_are_picked_by_name(folder):
    run("fit", "data.csv", "--columns", "c, a", "--out", "m.sb", "--components", 3, "--quiet")
    model = load("m.sb")
    assert model.feature_names_in_.tolist() == ["c", "a"]
    expected = DPMixture(n_components=3, random_state=0).fit(blobs()[:, [2, 0]])
    assert model.elbo_ == pytest.approx(expected.elbo_)


def test_mixed_tables_and_folders(folder):
    (folder / "many").mkdir()
    for name in ("one", "two"):
        (folder / "many" / f"{name}.csv").write_text((folder / "towns.csv").read_text())
    for data in ("towns.csv", "many"):
        options = ("--family", "mixed", "--columns", "height,town", "--components", 3, "--quiet")
        run("fit", data, "--out", "m.sb", "--assignments", "a.csv", *options)
        assert "town=" in run("info", "m.sb").stdout
        predicted = run("predict", "m.sb", data).stdout
        assert predicted == (folder / "a.csv").read_text()


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
def test_assignments_are_those_of_predict(folder, ending):
    run("fit", "data.npy", "--out", "m.sb", "--components", 3, "--assignments", f"a.{ending}", "--quiet")
    model = load("m.sb")
    cluster, probability = read(f"a.{ending}")
    np.testing.assert_array_equal(cluster, model.predict("data.npy"))
    if probability is not None:
        np.testing.assert_allclose(probability, model.predict_proba("data.npy").max(axis=1), rtol=1e-5)
    assert not list(folder.glob(".*"))


def read(path):
    if path.endswith(".npy"):
        return np.load(path), None
    table = csv.read_csv(path) if path.endswith(".csv") else pyarrow.parquet.read_table(path)
    return table["cluster"].to_numpy(), table["probability"].to_numpy()


def test_a_checkpoint_is_written_and_gone_on_from(folder):
    common = ("fit", "data.npy", "--out", "m.sb", "--components", 6, "--tol", 0, "--checkpoint", "run.ck", "--quiet")
    run(*common, "--laps", 3)
    run(*common, "--laps", 8, "--checkpoint-seconds", 0)
    straight = DPMixture(n_components=6, tol=0, max_iter=8, random_state=0).fit("data.npy")
    assert load("m.sb").elbo_ == straight.elbo_


def test_warnings_are_one_line_in_the_command_line_s_words(folder):
    result = run("fit", "data.npy", "--out", "m.sb", "--laps", 2, "--quiet")
    [line] = result.stderr.splitlines()
    assert line.startswith("warning: ")
    assert "--laps" in line
    assert "max_iter" not in line


def test_interrupted_fits_are_saved(folder, monkeypatch):
    finish = DPMixture._learn

    def stop(self, job_model, outcome):
        finish(self, job_model, outcome)
        self.converged_, self.n_iter_, self.elbo_ = False, 4, float("nan")
        self.interrupted_ = "interrupted after 4 of at most 100 laps"

    monkeypatch.setattr(DPMixture, "_learn", stop)
    result = run("fit", "data.npy", "--out", "m.sb", "--components", 3, "--assignments", "a.csv", code=130)
    assert "after 4 full laps is saved in m.sb" in result.stderr
    assert not (folder / "a.csv").exists()
    assert "not known" in run("info", "m.sb").stdout
    assert json.loads(run("info", "m.sb", "--json").stdout)["bound"] is None


def test_interrupted_assignments_leave_the_model_and_no_half_file(folder, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(output.CsvWriter, "write", stop)
    result = run("fit", "data.npy", "--out", "m.sb", "--components", 3, "--assignments", "a.csv", code=130)
    assert "saved in m.sb" in result.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["data.csv", "data.npy", "m.sb", "towns.csv"]


BAD_FITS = [
    (1, "there is no folder", ["data.npy", "--out", "no/m.sb"]),
    (1, "is a folder", ["data.npy", "--out", "."]),
    (1, "Did you mean 'data.npy'", ["dta.npy", "--out", "m.sb"]),
    (1, "there is no folder", ["data.npy", "--out", "m.sb", "--checkpoint", "no/c"]),
    (2, "Did you mean 'gaussian'", ["data.npy", "--out", "m.sb", "--family", "gausian"]),
    (2, "--prior='x' is not known", ["data.npy", "--out", "m.sb", "--prior", "x"]),
    (2, "--init='x' is not known", ["data.npy", "--out", "m.sb", "--init", "x"]),
    (2, "--components=0 must be", ["data.npy", "--out", "m.sb", "--components", "0"]),
    (2, "--blocks='x' must be", ["data.npy", "--out", "m.sb", "--blocks", "x"]),
    (2, "--jobs=0 must be", ["data.npy", "--out", "m.sb", "--jobs", "0"]),
    (2, "--concentration=-1.0 must be", ["data.npy", "--out", "m.sb", "--concentration", "-1"]),
    (2, "must end in .csv or .parquet or .npy", ["data.npy", "--out", "m.sb", "--assignments", "a.txt"]),
    (2, "are the same file", ["data.npy", "--out", "data.npy"]),
    (2, "are the same file", ["data.npy", "--out", "m.sb", "--checkpoint", "./m.sb"]),
    (2, "needs --checkpoint FILE", ["data.npy", "--out", "m.sb", "--checkpoint-seconds", "5"]),
    (2, "must be at least 0", ["data.npy", "--out", "m.sb", "--checkpoint", "c", "--checkpoint-seconds", "-5"]),
    (2, "there is no column 'bb'", ["data.csv", "--out", "m.sb", "--columns", "a,bb"]),
    (2, "names of columns with commas", ["data.csv", "--out", "m.sb", "--columns", "a,,b"]),
    (2, "by --columns A,B,C, or use --family='mixed'", ["towns.csv", "--out", "m.sb"]),
    (2, "takes zeros and ones", ["data.npy", "--out", "m.sb", "--family", "bernoulli"]),
]


@pytest.mark.parametrize(("code", "words", "arguments"), BAD_FITS)
def test_bad_usage_is_one_line_and_writes_nothing(folder, code, words, arguments):
    before = sorted(folder.iterdir())
    result = run("fit", *arguments, code=code)
    [line] = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert words in line
    assert result.stdout == ""
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "data.npy"], "--out"),
        (["fit", "data.npy", "--out", "m.sb", "--component", "3"], "--components"),
        (["fit", "data.npy", "--out", "m.sb", "--seed", "-1"], "--seed"),
        (["ift"], "fit"),
    ],
)
def test_unknown_and_missing_options_exit_with_2(folder, arguments, words):
    assert words in run(*arguments, code=2).stderr


# predict


def test_predict_prints_csv(model):
    lines = run("predict", "m.sb", "data.npy").stdout.splitlines()
    assert lines[0] == "cluster,probability"
    assert [int(line.split(",")[0]) for line in lines[1:]] == model.predict("data.npy").tolist()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predict_tells_probabilities_and_scores(model, ending):
    run("predict", "m.sb", "data.npy", "--out", f"p.{ending}", "--probabilities", "--scores", "--jobs", 1)
    table = csv.read_csv("p.csv") if ending == "csv" else pyarrow.parquet.read_table("p.parquet")
    assert table.column_names == ["cluster", "probability", "log_density", "cluster_0", "cluster_1", "cluster_2"]
    np.testing.assert_allclose(table["log_density"], model.score_samples("data.npy"), rtol=1e-5)
    each = np.column_stack([table[f"cluster_{k}"].to_numpy() for k in range(3)])
    np.testing.assert_allclose(each, model.predict_proba("data.npy"), rtol=1e-5, atol=1e-12)


def test_predict_takes_the_columns_of_the_fit(folder):
    run("fit", "data.csv", "--columns", "b,a", "--out", "m.sb", "--components", 3, "--assignments", "a.csv", "--quiet")
    assert run("predict", "m.sb", "data.csv").stdout == (folder / "a.csv").read_text()
    assert "error: " in run("predict", "m.sb", "data.csv", "--columns", "a,c", code=2).stderr


def test_sparse_counts(folder):
    X = sparse.csr_array(np.random.default_rng(0).poisson(np.repeat([[5, 0.1, 1], [0.1, 5, 1]], 40, axis=0)))
    sparse.save_npz("counts.npz", X)
    options = ("--family", "multinomial", "--components", 2, "--quiet", "--assignments", "a.npy")
    run("fit", "counts.npz", "--out", "m.sb", *options)
    np.testing.assert_array_equal(np.load("a.npy"), load("m.sb").predict(X))
    assert " x" in run("info", "m.sb").stdout


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (1, ["nothing.sb", "data.npy"]),
        (1, ["data.npy", "data.npy"]),
        (1, ["m.sb", "nothing.npy"]),
        (2, ["m.sb", "data.npy", "--out", "p.txt"]),
        (2, ["m.sb", "data.npy", "--out", "p.npy", "--scores"]),
        (2, ["m.sb", "data.npy", "--out", "data.npy"]),
        (2, ["m.sb", "data.npy", "--columns", "a"]),
        (2, ["m.sb", "data.npy", "--jobs", "0"]),
        (2, ["m.sb", "narrow.npy"]),
    ],
)
def test_predict_refuses_bad_usage(model, code, arguments):
    np.save("narrow.npy", blobs()[:, :2])
    [line] = run("predict", *arguments, code=code).stderr.splitlines()
    assert line.startswith("error: ")


def test_a_failed_write_leaves_the_old_file(model, folder, monkeypatch):
    (folder / "p.csv").write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(output.CsvWriter, "write", full)
    result = run("predict", "m.sb", "data.npy", "--out", "p.csv", code=1)
    assert "No space left" in result.stderr
    assert (folder / "p.csv").read_text() == "old"
    assert not list(folder.glob(".*"))


def test_answers_come_in_order_over_many_tiles(folder):
    X = np.random.default_rng(0).normal(size=(30_000, 2))
    model = DPMixture(n_components=3, init=(X[:, 0] > 0).astype(int), tol=1e-2, n_jobs=2, random_state=0).fit(X)
    np.save("wide.npy", X)
    with rows.open_for(model, folder / "wide.npy", None) as source:
        found = list(rows.answers(model, source))
    assert len(found) > 3
    np.testing.assert_array_equal(np.concatenate([part.cluster for part in found]), model.predict(X))


# info, demo, help


def test_info_as_json(model):
    told = json.loads(run("info", "m.sb", "--json").stdout)
    assert told["family"] == "gaussian"
    assert told["rows"] == pytest.approx(150)
    assert told["bound_per_row"] == pytest.approx(model.elbo_ / 150)
    assert [row["cluster"] for row in told["clusters"]] == [0, 1, 2]
    assert told["clusters"][0]["distinguishing"]


def test_info_lists_the_largest_of_many_clusters(folder):
    X = np.repeat(np.arange(60.0) * 100, 10)[:, None] + np.random.default_rng(0).normal(size=(600, 1))
    labels = np.repeat(np.arange(60), 10)
    DPMixture("diagonal-gaussian", init=labels, moves="none", max_iter=1, tol=0).fit(X).save("m.sb")
    n = load("m.sb").n_components_
    assert n > 50
    assert f"and {n - 50} smaller clusters" in run("info", "m.sb").stdout


def test_names_are_not_taken_for_markup(folder):
    text = (folder / "data.csv").read_text().replace("a,b,c", "a[red],b[/],:smile:", 1)
    (folder / "data.csv").write_text(text)
    run("fit", "data.csv", "--out", "m.sb", "--components", 3, "--quiet")
    shown = run("info", "m.sb").stdout
    assert all(name in shown for name in ("a[red]", "b[/]", ":smile:"))


def test_demo_writes_what_it_says(folder, monkeypatch):
    monkeypatch.setattr(demo_module, "SEEDS", 2)
    shown = run("demo", "--out", "made/demo").stdout
    made = folder / "made" / "demo"
    assert {p.name for p in made.iterdir()} == {"model.stickbreak", "assignments.csv", "clusters.png", "digits.csv"}
    assert all(str(path.relative_to(folder)) in shown for path in made.iterdir())
    assert float(re.search(r"adjusted Rand index (\S+),", shown)[1]) > 0.4
    assert (made / "clusters.png").read_bytes().startswith(b"\x89PNG")
    assert csv.read_csv(made / "assignments.csv").num_rows == 1797
    run("predict", made / "model.stickbreak", made / "digits.csv", "--out", "p.csv")


def test_demo_stops_at_ctrl_c(folder, monkeypatch):
    def interrupted(outcome, *rest):
        done = finish(outcome, *rest)
        done.interrupted = "interrupted after 1 of at most 300 laps"
        return done

    finish = fitting._Run.finish
    monkeypatch.setattr(fitting._Run, "finish", interrupted)
    monkeypatch.setattr(demo_module, "SEEDS", 1)
    assert "interrupted." in run("demo", code=130).stderr


def test_verdicts_count_digits():
    [verdict] = judge(np.zeros(5, dtype=int), np.array([3, 3, 3, 8, 8]))
    assert (verdict.digit, verdict.size, verdict.purity, verdict.others) == (3, 5, 0.6, ((8, 2),))


def test_help_teaches(folder):
    for command in ("fit", "predict", "info", "demo"):
        assert "For example" in run(command, "--help").stdout
    shown = "".join(run("fit", "--help").stdout.replace("│", " ").split())
    for name in (*families.BY_NAME, *PRIORS, *ALGORITHMS, *seeding.BY_NAME):
        assert name in shown, name


def test_version():
    assert run("--version").stdout.strip() == f"stickbreak {stickbreak.__version__}"


# As a process of its own


def test_debug_shows_where_an_error_came_from(folder):
    command = [sys.executable, "-m", "stickbreak", "--debug", "info", "none.sb"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert done.stderr.splitlines()[-1] == "error: there is no file none.sb."


def test_without_typer_one_line_says_what_to_install():
    code = "import sys; sys.modules['typer'] = None; from stickbreak.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == 'error: the command line needs typer: pip install "stickbreak[cli]"\n'


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a process alone")
def test_ctrl_c_keeps_what_was_learned(folder):
    np.save("data.npy", np.random.default_rng(0).normal(size=(20_000, 4)))
    command = [sys.executable, "-m", "stickbreak", "fit", "data.npy", "--out", "m.sb", "--tol", "0", "--laps", "100000"]
    with subprocess.Popen(
        [*command, "--jobs", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stderr.readline()  # the first lap is done
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "saved in m.sb" in stderr
    assert load("m.sb").n_iter_ >= 1


def test_a_reader_who_leaves_is_no_error(model):
    np.save("data.npy", np.tile(blobs(), (2000, 1)))  # more than a pipe holds
    command = f"{sys.executable} -m stickbreak predict m.sb data.npy | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)  # noqa: S602
    assert done.stdout == "cluster,probability\n"
    assert "Traceback" not in done.stderr
