"""What a user imports."""
