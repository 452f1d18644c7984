"""Fits in child processes that are killed."""

import signal
import subprocess
import sys
import time


def run_child(code, path, *arguments, kill_after=None):
    """Run code in a child process; kill it a while after its first checkpoint at `path` if asked."""
    child = subprocess.Popen([sys.executable, "-c", code, str(path), *arguments], stdout=subprocess.PIPE, text=True)
    if kill_after is not None:
        while child.poll() is None and not path.exists():
            time.sleep(0.001)
        time.sleep(kill_after)
        child.send_signal(signal.SIGKILL)
    out, _ = child.communicate(timeout=120)
    return out.strip()
