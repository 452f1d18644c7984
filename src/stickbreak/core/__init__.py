"""The algebra that everything else stands on."""
