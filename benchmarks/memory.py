"""Memory of a process, as Linux counts it."""

import re
from pathlib import Path


def megabytes(entry: str, process: int | str = "self") -> float:
    """An entry of /proc: VmRSS is what it takes now, VmHWM the most since `forget_peak`."""
    status = Path(f"/proc/{process}/status").read_text()
    found = re.search(rf"{entry}:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else float("nan")


def forget_peak(process: int | str = "self") -> None:
    """The peak is counted from here."""
    Path(f"/proc/{process}/clear_refs").write_text("5")
