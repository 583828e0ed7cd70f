"""`python -m tcnum` is the command `tcnum`."""

import sys

from . import main

sys.exit(main())
