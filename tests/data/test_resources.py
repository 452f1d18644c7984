"""Reading leaves no threads behind and takes little memory."""

import subprocess
import sys
import textwrap
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from stickbreak.data import base, open_source
from stickbreak.errors import FormatError


@pytest.mark.parametrize("kind", ["npy", "parquet", "arrow", "memmap"])
def test_stopping_early_leaves_no_threads(kind, X, monkeypatch, make):
    monkeypatch.setattr(base, "PIECE_BYTES", 400)
    partition = open_source(make(kind, X)).partition(3)
    for _, pieces in partition.visit([2, 0, 1]):
        next(pieces)
        break
    del pieces
    assert threading.active_count() == 1
    with pytest.raises(KeyError):
        stop_with_an_error(partition)
    assert threading.active_count() == 1
    firsts = [(b, next(pieces).where.start) for b, pieces in partition.visit([2, 0, 1])]
    assert [b for b, _ in firsts] == [2, 0, 1]
    held = partition.visit([0])
    next(held)
    held.close()
    assert threading.active_count() == 1


def stop_with_an_error(partition):
    for _, pieces in partition.visit([2, 0, 1]):
        for _ in pieces:
            raise KeyError


def test_errors_while_reading_ahead_arrive(X, monkeypatch, make):
    monkeypatch.setattr(base, "PIECE_BYTES", 400)
    path = make("npy", X)
    source = open_source(path)
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(FormatError, match="cut while being read"):
        list(source.pieces())
    assert threading.active_count() == 1


def in_child(code, *arguments):
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_importing_brings_in_nothing_heavy():
    out = in_child("""
        import sys
        import stickbreak.data
        print([name for name in ("sklearn", "pandas", "polars", "pyarrow", "numba") if name in sys.modules])
    """)
    assert out.strip() == "[]"


@pytest.mark.parametrize("kind", ["memmap", "npy", "parquet", "arrow"])
def test_memory_stays_bounded(kind, tmp_path):
    n, megabytes = 4_700_000, 300
    path = tmp_path / {"memmap": "x.npy", "npy": "x.npy"}.get(kind, f"x.{kind}")
    if kind in {"memmap", "npy"}:
        np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, 8)).flush()
    else:
        table = pa.table({name: np.zeros(n) for name in "abcdefgh"})
        if kind == "parquet":
            pq.write_table(table, path, row_group_size=50_000, compression="none", use_dictionary=False)
        else:
            feather.write_feather(table, path, compression="uncompressed", chunksize=n)
    out = in_child(
        """
        import sys
        import numpy as np, psutil
        from stickbreak.data import base, open_source
        base.PIECE_BYTES = 8 << 20
        path, kind = sys.argv[1:]
        data = np.load(path, mmap_mode="r") if kind == "memmap" else path
        source = open_source(data)
        own = psutil.Process()
        before, peak, rows = own.memory_info().rss, 0, 0
        for n_blocks in (1, 5):
            partition = source.partition(n_blocks)
            for b, pieces in partition.visit(range(n_blocks)):
                for piece in pieces:
                    rows += len(piece.rows)
                    peak = max(peak, own.memory_info().rss)
        print(rows, (peak - before) >> 20)
        """,
        path,
        kind,
    )
    rows, growth = map(int, out.split())
    assert rows == 2 * n
    assert growth < megabytes // 2
