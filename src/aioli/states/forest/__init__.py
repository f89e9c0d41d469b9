"""A forest of online trees: columns by rank, trees that aggregate over all their prunings, and the forest's state."""
