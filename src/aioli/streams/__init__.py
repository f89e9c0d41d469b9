"""Rows in: what a user may hand over, and the checks at the border."""
