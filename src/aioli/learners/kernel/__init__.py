"""Learners in the space of a kernel, exact and approximate."""
