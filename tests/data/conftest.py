"""The same rows as every kind of data, and the check that a source gives them back."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from scipy import sparse

NAMES = ["a", "b", "c", "d"]


class Blocks:
    """Gives blocks anew each time."""

    def __init__(self, blocks):
        self.blocks = blocks

    def __iter__(self):
        return iter(list(self.blocks))


def dense(rows):
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


def _restored(source, n_blocks):
    """Put the blocks' pieces back where they say they are from."""
    partition = source.partition(n_blocks)
    out = np.full((source.n_rows, source.n_columns), np.nan)
    seen = np.zeros(source.n_rows, dtype=int)
    order = list(range(len(partition.sizes)))[::-1]
    for b, pieces in partition.visit(order):
        size = 0
        for piece in pieces:
            assert piece.rows.dtype in (np.float32, np.float64)
            assert piece.rows.shape[0] == len(range(*piece.where.indices(source.n_rows)))
            out[piece.where] = dense(piece.rows)
            seen[piece.where] += 1
            size += piece.rows.shape[0]
        assert size == partition.sizes[b]
    assert (seen == 1).all()
    return out


@pytest.fixture
def X():
    X = np.random.default_rng(0).integers(-5, 9, size=(200, 4)).astype(float)
    X[3, 1] = np.nan
    return X


def _write_arrow(path, X, batch=17, compression=None):
    options = pa.ipc.IpcWriteOptions(compression=compression)
    table = pa.table(dict(zip(NAMES, X.T, strict=True)))
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=batch)


def _make(kind, X, folder):  # noqa: C901, PLR0912  a list of cases
    table = pa.table(dict(zip(NAMES, X.T, strict=True)))
    frame = pd.DataFrame(X, columns=NAMES)
    match kind:
        case "array":
            return X
        case "float32":
            return X.astype(np.float32)
        case "fortran":
            return np.asfortranarray(X)
        case "swapped":
            return X.astype(">f8")
        case "list of rows":
            return X.tolist()
        case "masked":
            return np.ma.masked_invalid(X)
        case "csr":
            return sparse.csr_array(X)
        case "coo":
            return sparse.coo_matrix(X)
        case "memmap":
            mapped = np.memmap(folder / "x.bin", dtype=np.float64, mode="w+", shape=X.shape)
            mapped[:] = X
            return mapped
        case "hidden memmap":
            np.save(folder / "x.npy", X)
            return np.asarray(np.load(folder / "x.npy", mmap_mode="r")[:, ::-1])[:, ::-1]
        case "npy":
            np.save(folder / "x.npy", X)
            return folder / "x.npy"
        case "npz":
            sparse.save_npz(folder / "x.npz", sparse.csr_matrix(X))
            return str(folder / "x.npz")
        case "parquet":
            pq.write_table(table, folder / "x.parquet", row_group_size=19)
            return folder / "x.parquet"
        case "arrow":
            _write_arrow(folder / "x.arrow", X)
            return folder / "x.arrow"
        case "lz4 feather":
            feather.write_feather(table, folder / "x.feather", compression="lz4", chunksize=31)
            return folder / "x.feather"
        case "csv":
            frame.to_csv(folder / "x.csv", index=False)
            return folder / "x.csv"
        case "csv.gz":
            frame.to_csv(folder / "x.csv.gz", index=False)
            return folder / "x.csv.gz"
        case "tsv":
            frame.to_csv(folder / "x.tsv", index=False, sep="\t")
            return folder / "x.tsv"
        case "pandas":
            return frame
        case "pandas nullable":
            return frame.convert_dtypes()
        case "polars":
            return pl.DataFrame(table)
        case "pyarrow":
            return table
        case "list of blocks":
            return [X[:50], X[50:50], frame[NAMES].to_numpy()[50:120], X[120:]]
        case "list of sparse":
            return (sparse.csr_array(X[:50]), sparse.csc_array(X[50:]))
        case "list of paths":
            np.save(folder / "1.npy", X[:50])
            np.save(folder / "2.npy", X[50:])
            return [folder / "1.npy", folder / "2.npy"]
        case "iterable":
            return Blocks([X[:50], X[50:120].tolist(), X[120:]])
        case "iterable of frames":
            return Blocks([frame[:50], frame[50:]])
        case "folder of parquet" | "folder of arrow" | "folder of npy" | "folder of csv":
            return _make_folder(kind, X, folder)
    raise AssertionError(kind)


def _make_folder(kind, X, folder):
    (folder / "_ignored").write_text("nothing")
    (folder / ".hidden").write_text("nothing")
    for i, part in enumerate((X[:90], X[90:100], X[100:])):
        table = pa.table(dict(zip(NAMES, part.T, strict=True)))
        table = table.select(NAMES[::-1]) if i == 1 else table
        if kind == "folder of parquet":
            pq.write_table(table, folder / f"{i}.pq", row_group_size=20)
        elif kind == "folder of arrow":
            feather.write_feather(table, folder / f"{i}.ipc", compression="uncompressed")
        elif kind == "folder of csv":
            table.to_pandas().to_csv(folder / f"{i}.csv", index=False)
        else:
            np.save(folder / f"{i}.npy", part)
    return folder


@pytest.fixture
def make(tmp_path):
    """Make data of a kind, in the test's own folder."""
    return lambda kind, X: _make(kind, X, tmp_path)


@pytest.fixture
def restored():
    return _restored


@pytest.fixture
def own_temp(tmp_path, monkeypatch):
    """Let temporary files go where the test can count them."""
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder
