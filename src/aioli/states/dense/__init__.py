"""States of d² numbers: P and w."""
