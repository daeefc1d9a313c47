"""`python -m uherding_backend` is `uherding`."""

import sys

from uherding_backend.cli import main

sys.exit(main())
