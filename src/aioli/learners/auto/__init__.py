"""Auto, the learner that needs no tuning."""
