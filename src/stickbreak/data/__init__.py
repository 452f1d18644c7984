"""Where rows come from: arrays, frames, files and blocks, all read piece by piece."""

from stickbreak.data.base import Partition, Piece, Source
from stickbreak.data.encoding import Schema
from stickbreak.data.opening import open_source
from stickbreak.data.profile import Profile, profile
from stickbreak.data.schema import infer_schema

__all__ = ["Partition", "Piece", "Profile", "Schema", "Source", "infer_schema", "open_source", "profile"]
