"""States for wide rows of which most entries are 0."""
