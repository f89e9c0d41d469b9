"""Streams in files: bytes in, tables out, in memory that does not grow with the file."""
