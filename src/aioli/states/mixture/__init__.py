"""Many learners' log-odds become one, and the views of a row that they read."""
