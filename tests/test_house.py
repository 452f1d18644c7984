"""The house: layers, the public surface, and the time it takes to come in."""

import ast
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

import stickbreak as sb

SRC = Path(sb.__file__).parent
LAYERS = [
    {"errors"},
    {"core"},
    {"families", "priors", "data"},
    {"moves"},
    {"learn"},
    {"store"},
    {"estimators"},
    {"report"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def imported(path):
    """Rooms that a file imports when it runs, type checking apart."""
    tree = ast.parse(path.read_text())
    idle = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in idle:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("stickbreak"):
            parts = node.module.split(".")
            yield from [parts[1]] if len(parts) > 1 else [a.name for a in node.names if a.name in LEVEL]


@pytest.mark.parametrize("path", sorted(SRC.rglob("*.py")), ids=lambda p: str(p.relative_to(SRC)))
def test_nobody_imports_from_above(path):
    room = path.relative_to(SRC).parts[0].removesuffix(".py")
    if room not in LEVEL:
        return
    above = {other for other in imported(path) if LEVEL[other] > LEVEL[room]}
    assert not above


def test_public_surface():
    assert sb.__all__ == sorted(sb.__all__, key=str)
    for name in sb.__all__:
        assert getattr(sb, name) is not None
    assert set(sb.__all__) <= set(dir(sb))
    with pytest.raises(AttributeError, match="no attribute"):
        _ = sb.DPMixtur


def test_coming_in_is_quick_and_brings_little():
    code = "import sys, time; t = time.perf_counter(); import stickbreak; print(time.perf_counter() - t, *sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    seconds, *modules = out.split()
    assert float(seconds) < 1
    assert not {"numba", "sklearn", "pandas", "pyarrow", "matplotlib"} & set(modules)


def test_version_is_one():
    assert importlib.metadata.version("stickbreak") == sb.__version__
