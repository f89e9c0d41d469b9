"""One algorithm a file, one protocol."""
