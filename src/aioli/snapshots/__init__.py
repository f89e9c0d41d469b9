"""The state of anything as a tree of named arrays and plain values, and its files."""
