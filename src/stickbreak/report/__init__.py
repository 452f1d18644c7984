"""What people look at: tables of clusters, and pictures (matplotlib is imported only when one is drawn)."""

from stickbreak.report.plots import plot_bound, plot_clusters, plot_weights
from stickbreak.report.tables import ClusterRow, describe_clusters

__all__ = ["ClusterRow", "describe_clusters", "plot_bound", "plot_clusters", "plot_weights"]
