"""What the command does, one file a command; what they share is beside them."""
