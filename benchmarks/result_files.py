"""What benchmarks keep in files, so that a run goes on where another stopped.

Every line names the code that made it, by a digest. A run measures what other code made again.
"""

import ast
import csv
import hashlib
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

CACHE = Path(".bench")  # of this machine, not published
ROOT = Path(__file__).parent.parent
CODE = "code"  # the column with the digest

Row = dict[str, str]


def code_digest(paths: Iterable[str], settings: object = None) -> str:
    """Of files and of directories with all that is in them; comments and layout do not count.

    Args:
        paths: From the directory of the project.
        settings: Whatever else decides the results; told apart by its `repr`.
    """
    found = hashlib.sha256(repr(settings).encode())
    for path in (ROOT / path for path in sorted(paths)):
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            found.update(str(file.relative_to(ROOT)).encode())
            found.update(ast.dump(ast.parse(file.read_text())).encode())
    return found.hexdigest()[:12]


def read_results(path: Path) -> list[Row]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def keep_only(path: Path, columns: Sequence[str], fits: Callable[[Row], bool]) -> list[Row]:
    """Leave these lines in the file; as it was, it is in `.bench` with `.old` behind its name."""
    rows = read_results(path)
    kept = [row for row in rows if fits(row)]
    if len(kept) < len(rows):
        CACHE.mkdir(exist_ok=True)
        shutil.copy(path, CACHE / f"{path.name}.old")
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.unfinished")
    with unfinished.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(kept)
    unfinished.replace(path)
    return kept


def append(path: Path, rows: Iterable[Sequence[object]]) -> None:
    with path.open("a", newline="") as file:
        csv.writer(file).writerows(rows)
