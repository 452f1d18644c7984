"""Update rules: each a loop that yields events."""
