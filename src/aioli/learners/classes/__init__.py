"""Learners of many classes."""
