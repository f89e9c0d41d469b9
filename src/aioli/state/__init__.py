"""What a learner remembers, and how it moves by a row or by a block of rows."""
