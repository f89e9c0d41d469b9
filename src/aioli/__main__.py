"""`python -m aioli` is the command."""

import sys

from aioli.cli import main

sys.exit(main())
