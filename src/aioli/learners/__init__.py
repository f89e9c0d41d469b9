"""Learners, each with a file or a folder of its own; `protocol.py` says what all of them do."""
