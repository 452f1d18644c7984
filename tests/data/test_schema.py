"""Columns of every kind of table become the same numbers."""

import json
import sys
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from scipy import sparse

from stickbreak.data import Schema, infer_schema, open_source
from stickbreak.errors import DataError, InputError, OptionError, SchemaError

NAN = np.nan
TABLE = {
    "size": [1.5, None, 2.5, 3.0],
    "colour": ["red", "blue", None, "red"],
    "visits": [0, 3, 2, 7],
    "member": [True, False, True, True],
    "smoker": [1, 0, 0, 1],
    "change": [-1, 2, 0, 4],
}
NAMES = tuple(TABLE)
KINDS = ("real", "category", "count", "flag", "flag", "real")
CATEGORIES = (None, ("blue", "red"), None, None, None, None)
CODES = np.array(
    [
        [1.5, 1.0, 0.0, 1.0, 1.0, -1.0],
        [NAN, 0.0, 3.0, 0.0, 0.0, 2.0],
        [2.5, NAN, 2.0, 1.0, 0.0, 0.0],
        [3.0, 1.0, 7.0, 1.0, 1.0, 4.0],
    ]
)


class Blocks:
    def __init__(self, *blocks):
        self.blocks = blocks

    def __iter__(self):
        return iter(self.blocks)


def make(kind, folder):  # noqa: C901, PLR0912  a list of cases
    table = pa.table(TABLE)
    match kind:
        case "pandas":
            return pd.DataFrame(TABLE)
        case "pandas categorical":
            return pd.DataFrame(TABLE).astype({"colour": "category", "visits": "Int64"})
        case "pandas objects":
            return pd.DataFrame(TABLE, dtype=object)
        case "polars":
            return pl.DataFrame(TABLE)
        case "polars categorical":
            return pl.DataFrame(TABLE).cast({"colour": pl.Categorical})
        case "pyarrow":
            return table
        case "batch":
            return table.to_batches()[0]
        case "dictionary":
            return table.set_column(1, "colour", pa.chunked_array(table["colour"]).dictionary_encode())
        case "parquet":
            pq.write_table(table, folder / "x.parquet", row_group_size=3)
            return folder / "x.parquet"
        case "arrow":
            feather.write_feather(table, folder / "x.feather", chunksize=3)
            return folder / "x.feather"
        case "csv":
            pd.DataFrame(TABLE).to_csv(folder / "x.csv", index=False)
            return folder / "x.csv"
        case "blocks":
            return [pd.DataFrame(TABLE)[:2], pl.DataFrame(TABLE)[2:]]
        case "iterable":
            return Blocks(table[:1], table[1:])
    raise AssertionError(kind)


def rows_of(source):
    return np.concatenate([piece.rows for piece in source.pieces()])


def read_all(visits):
    for _, pieces in visits:
        list(pieces)


@pytest.mark.parametrize(
    "kind",
    [
        *("pandas", "pandas categorical", "pandas objects", "polars", "polars categorical", "pyarrow", "batch"),
        *("dictionary", "parquet", "arrow", "csv", "blocks", "iterable"),
    ],
)
def test_tables_of_every_kind(kind, tmp_path):
    data = make(kind, tmp_path)
    schema = infer_schema(data)
    assert schema == Schema(NAMES, KINDS, CATEGORIES)
    with open_source(data, schema=schema) as source:
        assert source.names == NAMES
        rows = rows_of(source)
    assert rows.dtype == np.float64
    assert np.array_equal(rows, CODES, equal_nan=True)
    if kind not in {"blocks", "iterable"}:
        some = infer_schema(data, columns=["change", "colour"])
        assert some == Schema(("change", "colour"), ("real", "category"), (None, ("blue", "red")))
        with open_source(data, columns=["change", "colour"], schema=some) as source:
            assert np.array_equal(rows_of(source), CODES[:, [5, 1]], equal_nan=True)


def test_object_arrays_need_no_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    X = np.array(list(zip(*TABLE.values(), strict=True)), dtype=object)
    schema = infer_schema(X)
    assert schema == Schema(None, KINDS, CATEGORIES)
    for data in (X, X.tolist(), [X[:2], X[2:]]):
        assert np.array_equal(rows_of(open_source(data, schema=schema)), CODES[[0, 1, 2, 3]], equal_nan=True)
    strided = open_source(X, schema=schema).partition(3)
    assert np.array_equal(next(strided.pieces(0)).rows, CODES[::3], equal_nan=True)


def test_numeric_arrays(tmp_path):
    X = np.array([[0, 5, -1], [1, 7, 2], [1, 9, 3]])
    assert infer_schema(X).kinds == ("flag", "count", "real")
    assert infer_schema(X > 1).kinds == ("flag",) * 3
    assert infer_schema(X.astype(float)).kinds == ("real",) * 3
    np.save(tmp_path / "x.npy", X)
    schema = infer_schema(tmp_path / "x.npy", kinds={1: "category"})
    assert schema.kinds == ("flag", "category", "real")
    assert schema.categories[1] == (5, 7, 9)
    for data in (tmp_path / "x.npy", np.load(tmp_path / "x.npy", mmap_mode="r"), X, X.astype(np.float32)):
        assert rows_of(open_source(data, schema=schema))[:, 1].tolist() == [0.0, 1.0, 2.0]
    assert np.isnan(infer_schema(np.array([[1.5], [NAN]]), kinds={0: "category"}).encode([[NAN]])).all()
    with pytest.raises(InputError, match="Sparse"):
        infer_schema(sparse.csr_array(X))
    with pytest.raises(SchemaError, match="sparse data can't"):
        open_source(sparse.csr_array(X), schema=schema)


def test_text_arrays():
    X = np.array([["a", "x"], ["b", "y"]])
    schema = infer_schema(X)
    assert schema.categories == (("a", "b"), ("x", "y"))
    assert rows_of(open_source(X, schema=schema)).tolist() == [[0.0, 0.0], [1.0, 1.0]]


def test_kinds_can_be_chosen():
    frame = pd.DataFrame(TABLE)
    schema = infer_schema(frame, kinds={"visits": "category", "smoker": "count", 5: "category", "size": "category"})
    assert schema.kinds == ("category", "category", "category", "flag", "count", "category")
    assert schema.categories[0] == (1.5, 2.5, 3.0)
    assert schema.categories[5] == (-1, 0, 2, 4)
    assert schema.encode(frame)[:, 5].tolist() == [0.0, 2.0, 1.0, 3.0]
    assert schema.encode(frame.astype({"visits": float}))[:, 2].tolist() == [0.0, 2.0, 1.0, 3.0]
    for kinds, words in (
        ({"vist": "count"}, "no column 'vist'.*Did you mean 'visits'"),
        ({6: "count"}, "no column 6"),
        ({"visits": "counts"}, r"kinds\['visits'\]='counts' is not known.*'count'"),
    ):
        with pytest.raises(OptionError, match=words):
            infer_schema(frame, kinds=kinds)
    with pytest.raises(DataError, match=r"column 1 \('colour'\) holds text"):
        infer_schema(frame, kinds={"colour": "real"})


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (pd.DataFrame({"when": pd.to_datetime(["2020-01-01"])}), r"column 0 \('when'\) holds timestamp"),
        (pl.DataFrame({"when": [date(2020, 1, 1)]}), r"column 0 \('when'\) holds date32"),
        (pa.table({"list": [[1, 2]]}), r"\('list'\) holds list"),
        (pa.table({"struct": [{"a": 1}]}), r"\('struct'\) holds struct"),
        (np.array([[date(2020, 1, 1)]], dtype=object), "column 0 holds date"),
        (np.array([[1], ["a"]], dtype=object), "column 0 mixes int and text"),
        (pd.DataFrame({"q": [1, "a"]}, dtype=object), "Conversion failed for column q"),
        (pd.DataFrame({"id": [f"{i}" for i in range(1001)]}), r"\('id'\) has more than 1000 different values"),
        (pa.table({"none": pa.array([None], pa.string())}), r"\('none'\) holds nothing but missing"),
        (pd.DataFrame({"a": []}), r"0 sample\(s\)"),
    ],
)
def test_columns_that_are_neither(data, words):
    with pytest.raises(DataError, match=words):
        infer_schema(data)


def test_new_data_must_fit():
    frame = pd.DataFrame(TABLE)
    schema = infer_schema(frame)
    assert np.array_equal(schema.encode(frame[list(NAMES[::-1])]), CODES, equal_nan=True)
    with pytest.raises(SchemaError, match=r"no column 'colour'\. Did you mean 'color'"):
        schema.encode(frame.rename(columns={"colour": "color"}))
    with pytest.raises(SchemaError, match="not fitted on: 'extra'"):
        schema.encode(frame.assign(extra=1))
    with pytest.raises(SchemaError, match="have 2 columns, and the model was fitted on 6"):
        schema.encode(np.ones((2, 2)))
    with pytest.raises(SchemaError, match=r"Row 3, column 1 \('colour'\) holds 'green'.*missing value"):
        schema.encode(frame.assign(colour=["red", "blue", None, "green"]))
    with pytest.raises(SchemaError, match=r"column 0 \('size'\) holds text, where the fit had numbers"):
        schema.encode(frame.assign(size=["a", "b", "c", "d"]))
    with pytest.raises(SchemaError, match="Row 1, column 0 holds text"):
        Schema(None, ("real",), (None,)).encode([[1.0], ["x"]])


def test_rows_in_messages_are_those_of_the_data(tmp_path, monkeypatch):
    monkeypatch.setattr("stickbreak.data.base.PIECE_BYTES", 16)
    schema = Schema(("a",), ("category",), (("x",),))
    table = pa.table({"a": ["x"] * 7 + ["y"]})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=3)
    feather.write_feather(table, tmp_path / "x.arrow")
    (tmp_path / "x.csv").write_text("a\n" + "x\n" * 7 + "y\n")
    objects = np.array(table["a"].to_pylist(), dtype=object)[:, None]
    for data in (tmp_path / "x.parquet", tmp_path / "x.arrow", tmp_path / "x.csv", objects):
        with open_source(data, schema=schema) as source:
            visits = source.partition(3).visit(range(3))
            with pytest.raises(SchemaError, match="Row 7, column 0"):
                read_all(visits)


def test_text_files_keep_what_was_text(tmp_path):
    """A column of codes such as 07 is text if it was in the fit, though all new values look like numbers."""
    (tmp_path / "fit.csv").write_text("code,x\n07,1\nA1,2\n")
    (tmp_path / "new.csv").write_text("x,code\n5,07\n")
    schema = infer_schema(tmp_path / "fit.csv")
    with open_source(tmp_path / "new.csv", schema=schema) as source:
        assert rows_of(source).tolist() == [[0.0, 5.0]]


def test_schemas_survive_json():
    schema = infer_schema(pd.DataFrame(TABLE), kinds={"visits": "category", "member": "category"})
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    assert Schema.from_dict(Schema(None, ("real",), (None,)).to_dict()) == Schema(None, ("real",), (None,))
