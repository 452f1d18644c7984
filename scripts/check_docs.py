"""Check the pages: relative links lead somewhere, Python blocks run, and every public name has an example.

Each page's blocks run one after another in one namespace, in a folder of their own.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import tempfile
import warnings
from pathlib import Path

import stickbreak as sb

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def pages() -> list[Path]:
    """List the Markdown pages of the repository."""
    folders = (ROOT / "docs", ROOT / "benchmarks", ROOT / "experiments")
    return sorted([*ROOT.glob("*.md"), *(page for folder in folders for page in folder.glob("**/*.md"))])


def broken_links(page: Path) -> list[str]:
    """List the relative links of a page that lead nowhere."""
    links = [link for link in LINK.findall(page.read_text()) if "://" not in link]
    return [f"{page.relative_to(ROOT)}: {link} is not there" for link in links if not (page.parent / link).exists()]


def failing_blocks(page: Path) -> list[str]:
    """Run a page's Python blocks and list what fails."""
    namespace: dict[str, object] = {}
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for block in BLOCK.findall(page.read_text()):
                exec(compile(block, str(page), "exec"), namespace)  # noqa: S102 - our own pages
        except Exception as error:  # noqa: BLE001 - whatever a reader would see
            return [f"{page.relative_to(ROOT)}: {type(error).__name__}: {error}"]
        finally:
            os.chdir(ROOT)
    return []


def undocumented() -> list[str]:
    """List public classes and functions without an example."""
    public = [getattr(sb, name) for name in sb.__all__]
    public += [getattr(module, name) for module in (sb.families, sb.priors) for name in module.__all__]
    things = [p for p in public if inspect.isclass(p) or inspect.isfunction(p)]
    abstract = [p for p in things if inspect.isabstract(p)]
    return [f"{p.__qualname__} has no example" for p in things if p not in abstract and ">>>" not in (p.__doc__ or "")]


def main() -> int:
    """Report everything that is wrong."""
    found = [*undocumented()]
    for page in pages():
        found += broken_links(page) + failing_blocks(page)
    for line in found:
        print(line)
    print(f"{len(pages())} pages checked, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
