"""A batch model from one pass over a stream."""
