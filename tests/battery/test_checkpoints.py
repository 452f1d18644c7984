"""A run killed at any moment and resumed is the run that was left alone, to the last bit."""

import subprocess
import sys

import numpy as np
import pytest
from children import run_child

import stickbreak as sb
from stickbreak.errors import FileError, FormatError, InputError

CHILD = """
import sys
import numpy as np
import stickbreak as sb
path, algorithm, every = sys.argv[1:]
X = np.load(sys.argv[1] + ".npy")
model = sb.DPMixture(algorithm=algorithm, n_components=6, n_blocks=4, max_iter=25, tol=0, random_state=3)
model.fit(X, checkpoint=sb.Checkpoint(path, every_seconds=None if every == "lap" else float(every)))
print(model.elbo_.hex())
"""


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(m, 1, (400, 3)) for m in (-3, 0, 1, 4)])


@pytest.mark.parametrize(("algorithm", "every"), [("memoized", "0"), ("stochastic", "lap")])
def test_killed_at_many_moments(tmp_path, rows, algorithm, every):
    alone = tmp_path / "alone"
    np.save(f"{alone}.npy", rows)
    expected = run_child(CHILD, alone, algorithm, every)
    assert expected
    path = tmp_path / "killed"
    np.save(f"{path}.npy", rows)
    rng = np.random.default_rng(1)
    killed = 0
    for _ in range(8):
        killed += run_child(CHILD, path, algorithm, every, kill_after=rng.uniform(0, 0.05)) == ""
    assert killed > 0
    assert run_child(CHILD, path, algorithm, every) == expected


def stopped_after(n):
    def callback(lap):
        return lap.lap >= n

    return callback


def test_every_lap_is_a_place_to_go_on_from(tmp_path, rows):
    def make(callbacks=None):
        return sb.DPMixture(n_components=5, n_blocks=3, max_iter=8, tol=0, random_state=0, callbacks=callbacks)

    whole = make().fit(rows)
    for n in range(1, 8):
        path = tmp_path / f"run{n}"
        make(stopped_after(n)).fit(rows, checkpoint=path)
        resumed = make().fit(rows, checkpoint=path)
        assert resumed.elbo_ == whole.elbo_
        assert np.array_equal(resumed.summary_.stats, whole.summary_.stats)
        assert [lap.elbo for lap in resumed.history_] == [lap.elbo for lap in whole.history_]
        assert np.array_equal(resumed.labels_, whole.labels_)


def test_a_finished_run_is_not_done_again(tmp_path, rows):
    path = tmp_path / "run"
    model = sb.DPMixture(n_components=4, random_state=0, tol=1e-3).fit(rows, checkpoint=path)
    laps = []
    again = sb.DPMixture(n_components=4, random_state=0, tol=1e-3, callbacks=laps.append).fit(rows, checkpoint=path)
    assert not laps
    assert again.elbo_ == model.elbo_
    assert again.converged_


def test_other_data_or_options_are_refused(tmp_path, rows):
    path = tmp_path / "run"
    model = sb.DPMixture(n_components=4, random_state=0, tol=1e-3)
    model.fit(rows, checkpoint=path)
    with pytest.raises(InputError, match="data"):
        model.fit(rows + 1, checkpoint=path)
    with pytest.raises(InputError, match="prior differ"):
        sb.DPMixture(n_components=4, concentration=2.0, tol=1e-3).fit(rows, checkpoint=path)


def test_a_file_that_is_not_ours_is_left_alone(tmp_path, rows):
    path = tmp_path / "notes.txt"
    path.write_text("do not touch")
    with pytest.raises(FormatError, match="not a stickbreak file"):
        sb.DPMixture().fit(rows, checkpoint=path)
    assert path.read_text() == "do not touch"
    with pytest.raises(FileError, match="no folder"):
        sb.DPMixture().fit(rows, checkpoint=tmp_path / "nowhere" / "run")


FULL = """
import resource, sys
import stickbreak as sb
model = sb.load(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    model.save(sys.argv[1])
except sb.errors.FileError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_full_disk_leaves_the_old_file(tmp_path, rows):
    path = tmp_path / "model"
    sb.DPMixture(n_components=3, random_state=0, tol=1e-2).fit(rows).save(path)
    before = path.read_bytes()
    child = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True)
    assert "can't write" in child.stdout
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model"]
