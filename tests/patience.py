"""How long a test waits for another process or thread before it fails: no machine that is merely slow takes so long.

Nothing is proved by it. What hangs is ended by `timeout` in pyproject.toml, which is longer.
"""

__all__ = ["PATIENCE"]

PATIENCE = 600.0  # seconds
