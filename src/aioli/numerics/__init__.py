"""Scalar mathematics: the only place with exp and log."""
