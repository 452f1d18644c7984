"""The command line: ``stickbreak fit``, ``predict``, ``info`` and ``demo``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line on the process's arguments and end the process."""
    try:
        from stickbreak.cli.app import app
    except ImportError as error:
        if (error.name or "").split(".")[0] not in {"typer", "rich"}:
            raise
        sys.stderr.write(f'error: the command line needs {error.name}: pip install "stickbreak[cli]"\n')
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    app(prog_name="stickbreak")
