"""Files of a run: checkpoints, predictions, models."""
