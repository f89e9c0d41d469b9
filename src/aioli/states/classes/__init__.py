"""States of games of many classes."""
