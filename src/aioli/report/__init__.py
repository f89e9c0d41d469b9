"""Figures of a game."""
