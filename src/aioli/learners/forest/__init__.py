"""Forests of online trees."""
