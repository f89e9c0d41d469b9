"""The speed of the working tree beside that of an earlier commit, in one run: two processes that take turns."""
