"""What a label is, and one round of the game in scalars."""
