"""The learners that the paper compares with."""
