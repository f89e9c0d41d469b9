"""Where one machine or one core is not enough: copies of a learner learn parts of the rows, and become one again."""
