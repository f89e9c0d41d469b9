"""Boosted trees, fitted anew as rows come, whose leaves learn from each row in between."""
