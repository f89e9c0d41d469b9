"""`python -m aioli` is the command."""

from aioli.cli import console

if __name__ == "__main__":
    console()
