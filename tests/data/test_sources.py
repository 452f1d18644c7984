"""Every source gives back its data, in blocks."""

import sys
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from stickbreak.data import base, open_source, tables
from stickbreak.errors import DataError, FileError, InputError, OptionError, SchemaError

NAMES = ["a", "b", "c", "d"]


class Blocks:
    """Gives blocks anew each time."""

    def __init__(self, blocks):
        self.blocks = blocks

    def __iter__(self):
        return iter(list(self.blocks))


def dense(rows):
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


DENSE = [
    *("array", "float32", "fortran", "swapped", "list of rows", "masked", "csr", "coo", "memmap", "hidden memmap"),
    *("npy", "npz", "parquet", "arrow", "lz4 feather", "csv", "csv.gz", "tsv"),
    *("pandas", "pandas nullable", "polars", "pyarrow", "list of blocks", "list of sparse", "list of paths"),
    *("iterable", "iterable of frames"),
    *("folder of parquet", "folder of arrow", "folder of npy", "folder of csv"),
]
NAMED = ("parquet", "arrow", "feather", "csv", "tsv", "pandas", "polars", "pyarrow", "frames")


@pytest.mark.parametrize("kind", DENSE)
@pytest.mark.parametrize("piece_bytes", [base.PIECE_BYTES, 400])
def test_blocks_give_back_the_data(kind, piece_bytes, X, monkeypatch, make, restored):
    monkeypatch.setattr(base, "PIECE_BYTES", piece_bytes)
    with open_source(make(kind, X)) as source:
        assert source.n_columns == 4
        assert source.names == (tuple(NAMES) if any(word in kind for word in NAMED) else None)
        for n_blocks in (1, 3, 7, 7):
            assert np.array_equal(restored(source, n_blocks), X, equal_nan=True)
        rows = [dense(piece.rows) for piece in source.pieces()]
        assert np.array_equal(np.concatenate(rows), X, equal_nan=True)
        if piece_bytes == 400:
            assert len(rows) >= 8
        else:
            assert len(rows) <= 3
    assert threading.active_count() == 1


def test_memory_is_where_the_user_put_it(X, make):
    source = open_source(X)
    assert source.resident
    (piece,) = source.partition(3).pieces(1)
    assert np.shares_memory(piece.rows, X)
    assert piece.where == slice(1, 200, 3)
    assert open_source(X.astype(np.float16)).partition(1).pieces(0).__next__().rows.dtype == np.float32
    assert open_source(X > 0).partition(1).pieces(0).__next__().rows.dtype == np.float64
    assert not open_source(make("memmap", X)).resident
    assert not open_source([X, X]).resident


def test_blocks_are_capped(X, make):
    assert open_source(X[:5]).partition(9).sizes == (1,) * 5
    assert open_source(sparse.csr_array(X[:5])).partition(9).sizes == (1,) * 5
    assert len(open_source(make("parquet", X)).partition(100).sizes) == 11
    assert open_source([X, X, X]).partition(9).sizes == (200,) * 3
    with pytest.raises(OptionError, match="n_blocks=0"):
        open_source(X).partition(0)


def test_giant_row_groups_are_divided(X, tmp_path, monkeypatch, restored):
    pq.write_table(pa.table(dict(zip(NAMES, X.T, strict=True))), tmp_path / "x.parquet")
    assert open_source(tmp_path / "x.parquet").partition(4).sizes == (200,)
    monkeypatch.setattr(tables, "_GIANT_BYTES", 50 * 4 * 8)
    source = open_source(tmp_path / "x.parquet")
    assert source.partition(4).sizes == (50,) * 4
    assert np.array_equal(restored(source, 4), X, equal_nan=True)


def test_columns_are_chosen_by_name(X, make, restored):
    for kind in ("parquet", "arrow", "csv", "pandas", "polars", "pyarrow"):
        with open_source(make(kind, X), columns=["d", "b"]) as source:
            assert source.names == ("d", "b")
            assert np.array_equal(restored(source, 2), X[:, [3, 1]], equal_nan=True)
    with pytest.raises(OptionError, match=r"no column 'bb'.*Did you mean 'b'"):
        open_source(make("pandas", X), columns=["bb"])
    with pytest.raises(OptionError, match="by name, and an array has none"):
        open_source(X, columns=["a"])


def test_iterables_are_counted_by_the_first_pass(X):
    source = open_source(Blocks([X[:50], X[50:]]))
    assert source.n_rows is None
    assert source.natural_blocks is None
    assert sum(len(piece.rows) for piece in source.pieces()) == 200
    assert (source.n_rows, source.natural_blocks) == (200, 2)
    assert not source.partition(2).random_access
    partition = source.partition(2)
    assert [b for b, _ in partition.visit([1, 0])] == [0, 1]
    assert [piece.where for piece in partition.pieces(1)] == [slice(50, 200, 1)]


def test_iterables_must_repeat_themselves(X):
    data = Blocks([X[:50], X[50:]])
    source = open_source(data)
    list(source.pieces())
    for other in ([X[:50]], [X[:50], X[50:60]], [X[:50], X[50:], X[:9]], []):
        data.blocks = other
        with pytest.raises(DataError, match="another number of rows"):
            list(source.pieces())
    with pytest.raises(InputError, match="several passes"):
        open_source(block for block in [X])
    with pytest.raises(DataError, match=r"0 sample\(s\)"):
        open_source(Blocks([]))


def test_blocks_must_be_alike(X):
    with pytest.raises(SchemaError, match="Block 1 has 3 columns"):
        open_source([X, X[:, :3]])
    with pytest.raises(SchemaError, match="Block 1 has 3 columns"):
        list(open_source(Blocks([X, X[:, :3]])).pieces())
    with pytest.raises(SchemaError, match="not both sparse"):
        open_source([X, sparse.csr_array(X)])


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (np.ones((0, 3)), DataError, r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is"),
        (np.ones((5, 0)), DataError, r"0 feature\(s\) \(shape=\(5, 0\)\) while a minimum of 1 is required"),
        (pd.DataFrame({"a": []}), DataError, r"0 sample\(s\)"),
        (pd.DataFrame(index=[1, 2]), DataError, r"0 feature\(s\)"),
        (sparse.csr_array((0, 3)), DataError, r"0 sample\(s\)"),
        (np.ones(3), InputError, "Expected 2D array, got 1D array instead"),
        ([1.0, 2.0], InputError, "Reshape your data"),
        ([], InputError, "Expected 2D array"),
        (np.ones((2, 2, 2)), InputError, "dim 3"),
        (pd.Series([1.0]), InputError, "Expected 2D array, got 1D"),
        (pl.Series([1.0]), InputError, "Expected 2D array, got 1D"),
        (pl.LazyFrame({"a": [1.0]}), InputError, "collect"),
        (np.ones((2, 2), dtype=complex), InputError, "Complex data not supported"),
        (sparse.csr_array(np.ones((2, 2), dtype=complex)), InputError, "Complex data not supported"),
        (pd.DataFrame({"a": [1j]}), InputError, "Complex data not supported"),
        (np.array([["a", "b"]]), DataError, "family='mixed'"),
        (np.array([[1, None]], dtype=object), DataError, "family='mixed'"),
        (pd.DataFrame({"a": [1.0], "b": ["x"]}), DataError, r"column 1 \('b'\).*columns="),
        (pl.DataFrame({"a": [1.0], "b": ["x"]}), DataError, r"column 1 \('b'\).*columns="),
        (pa.table({"a": [1.0], "b": ["x"]}), DataError, r"column 1 \('b'\).*columns="),
        (pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), SchemaError, "two columns are named 'a'"),
        ([[1.0, 2.0], [3.0]], InputError, "2-D array"),
        ({"a": [1.0]}, InputError, "type dict"),
        (3.0, InputError, "type float"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), InputError, "datetime64"),
    ],
)
def test_unusable_data(data, error, words):
    with pytest.raises(error, match=words):
        open_source(data)


def test_frames_become_numbers(restored):
    frame = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": [True, False], "c": [1.5, np.nan]})
    expected = [[1.0, 1.0, 1.5], [np.nan, 0.0, np.nan]]
    for same in (frame, pl.DataFrame({"a": [1, None], "b": [True, False], "c": [1.5, None]}), pa.table(frame)):
        assert np.array_equal(restored(open_source(same), 1), expected, equal_nan=True)
    numbered = open_source(pd.DataFrame(np.ones((2, 2), dtype=np.float32)))
    assert numbered.names is None
    assert next(numbered.pieces()).rows.dtype == np.float32


def test_missing_pyarrow(monkeypatch, X, make, restored):
    path = make("parquet", X)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(FileError, match=r'pip install "stickbreak\[files\]"'):
        open_source(path)
    assert np.array_equal(restored(open_source(pd.DataFrame(X, columns=NAMES)), 2), X, equal_nan=True)
    assert np.array_equal(restored(open_source(pl.DataFrame(X)), 2), X, equal_nan=True)


def test_copy_on_write_maps_keep_their_changes(tmp_path, X):
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="c")
    mapped[:] = 7.0
    list(open_source(mapped).pieces())
    assert (mapped == 7.0).all()


def test_duplicates_in_csr_are_summed_without_touching_the_matrix(restored):
    X = sparse.csr_array((np.ones(4), np.array([2, 0, 2, 1]), np.array([0, 3, 4])), shape=(2, 3))
    assert restored(open_source(X), 2).tolist() == [[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]]
    assert X.nnz == 4
    assert np.issubdtype(next(open_source(X.astype(np.int32)).pieces()).rows.dtype, np.float64)
