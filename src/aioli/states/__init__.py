"""What learners remember: named arrays, and the compiled loops over them."""
