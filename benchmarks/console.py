"""What a benchmark says while it runs."""

import sys
import time


def tell(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stderr.flush()
