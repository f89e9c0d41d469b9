"""Foster et al.'s learner: an integral over a ball."""
