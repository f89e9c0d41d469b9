"""Whether the working tree says, bit for bit, what an earlier commit said: every learner, face and the command."""
