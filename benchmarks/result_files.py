"""What benchmarks keep in files, so that a run goes on where another stopped."""

import csv
from pathlib import Path

CACHE = Path(".bench")  # of this machine, not published


def read_results(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
