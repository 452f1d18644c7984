"""Files, folders and text: what can't be read is told at once, and nothing temporary stays."""

import errno
import gc
import os
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stickbreak.data import open_source
from stickbreak.errors import DataError, FileError, FormatError, SchemaError

NAMES = ["a", "b", "c", "d"]


def test_files_that_cannot_be_read(tmp_path, X):
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(FileError, match=r"does not exist\. Did you mean 'rows.npy'"):
        open_source(tmp_path / "row.npy")
    (tmp_path / "x.xlsx").touch()
    with pytest.raises(FileError, match=r"\.parquet"):
        open_source(tmp_path / "x.xlsx")
    whole = (tmp_path / "rows.npy").read_bytes()
    (tmp_path / "cut.npy").write_bytes(whole[:-1])
    with pytest.raises(FormatError, match="truncated"):
        open_source(tmp_path / "cut.npy")
    (tmp_path / "junk.npy").write_bytes(b"junk")
    with pytest.raises(FormatError, match=r"not a \.npy file"):
        open_source(tmp_path / "junk.npy")
    for name, array, words in (
        ("f", np.asfortranarray(X), "Fortran"),
        ("o", np.array([[None]]), "object"),
        ("1", X[0], "1D array"),
        ("0", X[:0], "0 sample"),
    ):
        np.save(tmp_path / f"{name}.npy", array)
        with pytest.raises(FormatError, match=words):
            open_source(tmp_path / f"{name}.npy")
    np.savez(tmp_path / "d.npz", X)
    with pytest.raises(FormatError, match="no sparse matrix"):
        open_source(tmp_path / "d.npz")
    (tmp_path / "junk.npz").write_bytes(b"junk")
    with pytest.raises(FormatError, match="truncated, or of another kind"):
        open_source(tmp_path / "junk.npz")


@pytest.mark.parametrize("kind", ["parquet", "arrow", "lz4 feather"])
def test_truncated_tables(kind, X, make):
    path = make(kind, X)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(FormatError, match="truncated or of another kind"):
        open_source(path)


def test_folders(tmp_path, X, make):
    with pytest.raises(FileError, match="holds no files"):
        open_source(tmp_path)
    make("parquet", X)
    pq.write_table(pa.table({"a": [1.0], "z": [2.0]}), tmp_path / "y.parquet")
    with pytest.raises(SchemaError, match="'b', 'c', 'd', 'z' in one only"):
        open_source(tmp_path)
    assert open_source(tmp_path, columns=["a"]).n_rows == 201
    make("csv", X)
    with pytest.raises(FileError, match="several kinds"):
        open_source(tmp_path)
    (tmp_path / "a.inner").mkdir()
    with pytest.raises(FileError, match="folders in folders"):
        open_source(tmp_path)


def spooled():
    return list(Path(tempfile.gettempdir()).glob("stickbreak-*.arrow"))


def test_csv_is_spooled_and_removed(own_temp, X, make):
    path = make("csv", X)
    with open_source(path):
        assert len(spooled()) == 1
    assert spooled() == []
    source = open_source(path)
    assert len(spooled()) == 1
    del source
    gc.collect()
    assert spooled() == []


def test_csv_types_widen(own_temp, tmp_path, monkeypatch, restored):
    monkeypatch.setattr("stickbreak.data.spool._BLOCK_BYTES", 64)
    path = tmp_path / "x.csv"
    path.write_text("a,b,c\n" + "1,,2020-01-01\n" * 20 + "1.5,2,x\n" + "2,0.5,x\n")
    with open_source(path, columns=["b", "a"]) as source:
        assert restored(source, 1)[-2:].tolist() == [[2.0, 1.5], [0.5, 2.0]]
    with pytest.raises(DataError, match=r"column 2 \('c'\)"):
        open_source(path)
    assert spooled() == []


def test_csv_that_cannot_be_read(own_temp, tmp_path):
    path = tmp_path / "x.csv"
    for text, words in (
        ("a,b\n1,2\n3\n", r"Row #3: Expected 2 columns, got 1: 3 \(the line of names is row 1\)"),
        ("1,2\n3,4\n", "nothing but numbers"),
        ("", "Empty"),
    ):
        path.write_text(text)
        with pytest.raises(FormatError, match=words):
            open_source(path)
    path.write_bytes(b"a,b\n\xe9,1\n")
    with pytest.raises(FormatError, match="column 'a' holds text that is not UTF-8"):
        open_source(path)
    path.write_text("a,b\n")
    with pytest.raises(DataError, match=r"0 sample\(s\)"):
        open_source(path)
    path.write_text("a,a\n1,2\n")
    with pytest.raises(SchemaError, match="two columns are named 'a'"):
        open_source(path)
    assert spooled() == []


def test_full_disk(own_temp, monkeypatch, X, make):
    class FullDisk:
        def __init__(self, *_):
            raise OSError(errno.ENOSPC, "No space left on device")

    path = make("csv", X)
    monkeypatch.setattr(pa, "OSFile", FullDisk)
    with pytest.raises(FileError, match=r"No space left .*TMPDIR"):
        open_source(path)
    assert spooled() == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_full_device(monkeypatch, tmp_path, X, make):
    path = make("csv", X)
    target = tmp_path / "stickbreak-spool.arrow"
    target.symlink_to("/dev/full")
    monkeypatch.setattr("tempfile.mkstemp", lambda **_: (os.open(target, os.O_WRONLY), str(target)))
    with pytest.raises(FileError, match="No space left"):
        open_source(path)
    assert not target.is_symlink()
