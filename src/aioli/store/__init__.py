"""What a run leaves on disk: checkpoints, predictions, models."""
