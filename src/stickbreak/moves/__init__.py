"""Changes of size: births, splits, merges, and when to try them."""
