"""Records on disk: models and checkpoints."""

from stickbreak.store.files import read, write

__all__ = ["read", "write"]
