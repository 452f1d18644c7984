"""Clusters and topics when nobody knows how many there are, on data too big for the usual tools."""

__version__ = "0.1.0"
