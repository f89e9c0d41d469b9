"""What the faces share: the learner behind a face is a copy of the one that was given, and weights reach it or fail."""

from aioli.learners.templates import fresh_copy, learn_rows

__all__ = ["fresh_copy", "learn_rows"]
