"""`python -m tcnum`: the command `tcnum`."""

import sys

from . import main

sys.exit(main())
