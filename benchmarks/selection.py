"""How long does it take to choose a batch, and how much memory? Ours, the plain loop, and peers.

    .venv/bin/python -m benchmarks.selection [--sizes 5000,10000] [--quick] [--output FILE.csv]

Every measurement is a process of its own. It loads its libraries, chooses from a tiny pool, loads
the features, and only then looks at the clock and at the memory (Linux: its peak is set back, so
that nothing from before counts). Each is one line of the output; what is there already is not
measured again. Remove a line, or the file, to measure again.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import importlib
import importlib.util
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from model.arrays import NO_ROWS, Features, Rows, Uncertainty
from model.coverage import TIE, coverage, select
from model.greedy import Selection
from model.radius import DEFAULT_RADIUS, labeled_radius

if TYPE_CHECKING:
    from model.neighbours import NeighbourGraph

CACHE = Path(".bench")
RESULTS = Path("benchmarks/results/selection.csv")
QUICK_RESULTS = CACHE / "selection-quick.csv"
SIZES = (5_000, 10_000, 20_000, 50_000, 100_000, 1_000_000)
QUICK_SIZES = (5_000, 10_000)
BATCHES = (100, 1_000)
DATA = ("clustered", "real")
REAL = ("fashion-mnist", "patches")
DIMENSION, CLUSTERS, INNER, CHUNK = 384, 100, 24, 10_000
TINY = 1_100  # rows of the pool that loads the libraries; with fewer, ours would not load torch
DENSE_ROWS, PEER_ROWS, GRAPH_ROWS = 10_000, 10_000, 100_000
DENSE_WORK = 4e10  # rows x rows x picks: a loop over everything takes minutes
OURS_PATIENCE, PEER_PATIENCE = 7_200, 900  # seconds
COLUMNS = (
    *("data", "n", "batch", "labels", "contender", "repeat", "d", "radius", "seconds", "megabytes"),
    *("evaluations", "gains", "error_bound", "exact_gains"),
    *("compared_with", "same_picks", "gains_difference", "failure"),
)
OURS, READY, BUILT = "ours", "ours, graph ready", "ours, graph built"
DENSE, APRICOT, SUBMODLIB = "dense loop", "apricot", "submodlib"
SCIKIT_ACTIVEML, BUILD, BARE = "scikit-activeml", "graph build", "bare pass"
PACKAGES = {APRICOT: "apricot", SCIKIT_ACTIVEML: "skactiveml", SUBMODLIB: "submodlib"}
UNWEIGHTED = (SCIKIT_ACTIVEML,)  # knows no uncertainty, and so with labels solves another problem

Figures = dict[str, Any]  # what a measuring process sends back


@dataclass(frozen=True)
class Case:
    """What is to be chosen; batch 0 = something done to the pool whatever is chosen."""

    data: str
    n: int
    batch: int = 0
    labels: int = 0

    def __str__(self) -> str:
        wanted = f", batch {self.batch:,}, {self.labels:,} labels" if self.batch else ""
        return f"{self.data} {self.n:,}{wanted}"


@dataclass(frozen=True)
class Pool:
    """A case, in memory; meanings as in `select`."""

    features: Features
    uncertainty: Uncertainty
    labeled: Rows
    radius: float
    count: int
    graph: NeighbourGraph | None = None

    @classmethod
    def of(cls, case: Case, features: Features, radius: float | None = None) -> Pool:
        generator = np.random.default_rng(1)
        labeled = np.sort(generator.permutation(case.n)[: case.labels])
        uncertainty = generator.random(case.n) if case.labels else np.ones(case.n)
        uncertainty[labeled] = 0.0
        if radius is None:
            known = case.labels > 0
            radius = labeled_radius(features, labeled).value if known else DEFAULT_RADIUS
        return cls(features, uncertainty, labeled, radius, case.batch)

    @property
    def weights(self) -> NDArray[np.float64]:
        return self.uncertainty / len(self.features)


# ---- The contenders ----


def ours(pool: Pool) -> Selection:
    return select(
        pool.features,
        pool.uncertainty,
        pool.labeled,
        count=pool.count,
        radius=pool.radius,
        graph=pool.graph,
    )


def ours_with_graph_built(pool: Pool) -> Selection:
    from model.neighbours import NeighbourGraph

    return ours(replace(pool, graph=NeighbourGraph.build(pool.features)))


def graph_build(pool: Pool) -> Selection:
    from model.neighbours import NeighbourGraph

    NeighbourGraph.build(pool.features)
    return Selection(NO_ROWS, np.empty(0))


def bare_pass(pool: Pool) -> Selection:
    """The yardstick: every pair once, one product and one exponential, nothing kept."""
    import torch

    side = 512
    points = torch.from_numpy(pool.features)
    scaled = points * (2.0 / pool.radius**2)
    memory = torch.empty(side * side)
    computed = 0
    for start in range(0, len(points), side):
        left = scaled[start : start + side]
        for other in range(start, len(points), side):
            right = points[other : other + side]
            size = len(left) * len(right)
            torch.mm(left, right.T, out=memory[:size].view(len(left), len(right))).exp_()
            computed += size
    return Selection(NO_ROWS, np.empty(0), computed)


def dense_loop(pool: Pool) -> Selection:
    """The paper's algorithm as it is written: the oracle. Equal gains: the lowest row, as ours."""
    kernel = similarities(pool, slice(0, len(pool.features)))
    covered = kernel[pool.labeled].max(axis=0, initial=0.0)
    taken = np.zeros(len(kernel))
    taken[pool.labeled] = -np.inf
    tie = TIE * pool.weights.sum()
    rows, gains = [], []
    for _ in range(pool.count):
        gain = np.maximum(kernel - covered, 0.0) @ pool.weights + taken
        best = int(np.argmax(gain >= gain.max() - tie))
        rows.append(best)
        gains.append(gain[best])
        taken[best] = -np.inf
        covered = np.maximum(covered, kernel[best])
    return Selection(np.array(rows), np.array(gains), kernel.size)


def similarities(pool: Pool, part: slice) -> NDArray[np.float64]:
    """Of some rows to all, (part, n), in float64."""
    points = pool.features.astype(np.float64)
    lengths = np.einsum("nd,nd->n", points, points)
    exponents = points[part] @ points.T
    exponents *= 2.0
    exponents -= lengths[part, None]
    exponents -= lengths
    exponents /= pool.radius**2
    np.minimum(exponents, 0.0, out=exponents)
    exponents[np.arange(len(exponents)), np.arange(part.start, part.stop)] = 0.0
    return np.exp(exponents, out=exponents)


def apricot(pool: Pool) -> Selection:
    """Facility location, lazily; rows of its matrix are candidates, columns are points.

    Released 0.6.1 runs with numpy 2 as it is. It compiles its loops anew in every fit, which
    takes seconds and which no first call can take off the clock. It works in float64 and copies
    anything else.
    """
    matrix = similarities(pool, slice(0, len(pool.features)))
    matrix *= pool.weights
    selector = importlib.import_module("apricot").FacilityLocationSelection(
        pool.count,
        metric="precomputed",
        optimizer="lazy",
        initial_subset=pool.labeled if len(pool.labeled) else None,
    )
    selector.fit(matrix)
    return Selection(selector.ranking.astype(np.int64), selector.gains, matrix.size)


def scikit_activeml(pool: Pool) -> Selection:
    """MaxHerding on the float32 features as they are: float64 takes twice as long with labels."""
    known = np.full(len(pool.features), np.nan)
    known[pool.labeled] = 0.0
    strategy = importlib.import_module("skactiveml.pool").MaxHerding(
        normalize_samples=False,
        metric="rbf",
        metric_dict={"gamma": 1.0 / pool.radius**2},
        random_state=0,
    )
    rows, utilities = strategy.query(
        pool.features, known, batch_size=pool.count, return_utilities=True
    )
    candidates = len(pool.features) - len(pool.labeled)
    gains = utilities[np.arange(len(rows)), rows] * candidates / len(pool.features)
    return Selection(rows.astype(np.int64), gains, candidates**2)


def submodlib(pool: Pool) -> Selection:
    """Facility location in C++, lazily, in float32.

    It cannot start from labels. What they cover is taken off the similarities instead, which
    leaves all gains as they are; its rows are points, its columns are candidates.
    """
    n = len(pool.features)
    free = np.setdiff1d(np.arange(n), pool.labeled)
    matrix = np.empty((n, len(free)), dtype=np.float32)
    for start in range(0, n, 1_000):
        part = slice(start, min(n, start + 1_000))
        similar = similarities(pool, part)
        similar -= similar[:, pool.labeled].max(axis=1, initial=0.0)[:, None]
        similar *= pool.weights[part, None]
        np.maximum(similar[:, free], 0.0, out=matrix[part], casting="same_kind")
    function = importlib.import_module("submodlib").FacilityLocationFunction(
        n=len(free), mode="dense", separate_rep=True, n_rep=n, sijs=matrix, pybind_mode="array32"
    )
    chosen = function.maximize(budget=pool.count, optimizer="LazyGreedy", show_progress=False)
    rows = free[[row for row, _ in chosen]]
    return Selection(rows, np.array([gain for _, gain in chosen]), matrix.size)


CONTENDERS: dict[str, Callable[[Pool], Selection]] = {
    DENSE: dense_loop,
    OURS: ours,
    READY: ours,
    BUILT: ours_with_graph_built,
    BUILD: graph_build,
    BARE: bare_pass,
    APRICOT: apricot,
    SCIKIT_ACTIVEML: scikit_activeml,
    SUBMODLIB: submodlib,
}


# ---- In the measuring process ----


@dataclass(frozen=True)
class Request:
    """What a measuring process is asked; no graph and no radius = none is at hand."""

    data: str
    n: int
    batch: int
    labels: int
    contender: str
    features: str
    graph: str | None
    radius: float | None

    @property
    def case(self) -> Case:
        return Case(self.data, self.n, self.batch, self.labels)


def measure(request: Request) -> Figures:
    """Choose once, with everything loaded that is not part of choosing."""
    choose = CONTENDERS[request.contender]
    choose(Pool.of(Case("clustered", TINY, batch=2), next(clustered(TINY))))
    pool = Pool.of(request.case, np.load(request.features), request.radius)
    ctypes.CDLL(None).malloc_trim(0)  # memory that is free but still ours would be used unseen
    before = megabytes("VmRSS")
    if request.graph:  # counts as memory, not as time
        from model.neighbours import NeighbourGraph

        pool = replace(pool, graph=NeighbourGraph.load(Path(request.graph)))
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    started = time.perf_counter()
    chosen = choose(pool)
    seconds = time.perf_counter() - started
    used = megabytes("VmHWM") - before
    return {
        "d": pool.features.shape[1],
        "radius": pool.radius,
        "seconds": round(seconds, 4),
        "megabytes": round(used, 1),
        "evaluations": chosen.evaluations,
        "gains": float(chosen.gains.sum()),
        "error_bound": chosen.error,
        "exact_gains": exact_gains(pool, chosen.rows) if chosen.error > 0.0 else None,
        "picks": chosen.rows.tolist(),
        "gain_of_each": chosen.gains.tolist(),
    }


def exact_gains(pool: Pool, rows: Rows) -> float:
    """By how much the picks raise the coverage of the whole pool, where ours only estimates it."""
    if len(pool.labeled) == 0:
        return coverage(pool.features, pool.uncertainty, rows, pool.radius)
    from model.gaussian_pool import GaussianPool

    points = np.flatnonzero(pool.uncertainty > 0)
    raised = GaussianPool(pool.features, pool.radius, points).covered_by(rows)
    covered = np.zeros(len(points))
    for labels in np.array_split(pool.labeled, -(-len(pool.labeled) // 10_000)):
        # Most points are nearer to one of the first labels than to any pick: no need to go on.
        left = np.flatnonzero(raised > covered)
        nearest = GaussianPool(pool.features, pool.radius, points[left]).covered_by(labels)
        covered[left] = np.maximum(covered[left], nearest)
    return float(pool.weights[points] @ np.maximum(raised - covered, 0.0))


def megabytes(entry: str) -> float:
    found = re.search(rf"{entry}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")


# ---- The data ----


def clustered(n: int) -> Iterator[Features]:
    """Seeded: clusters of unequal size, each spread along a few directions and a bit along all."""
    generator = np.random.default_rng(0)
    shares = generator.dirichlet(np.full(CLUSTERS, 0.7))
    centres = generator.normal(size=(CLUSTERS, DIMENSION)) / np.sqrt(DIMENSION)
    basis = generator.normal(size=(INNER, DIMENSION)) / np.sqrt(DIMENSION)
    for start in range(0, n, CHUNK):
        size = min(CHUNK, n - start)
        rows = centres[generator.choice(CLUSTERS, size, p=shares)]
        rows += 0.7 * (generator.normal(size=(size, INNER)) @ basis) / np.sqrt(INNER)
        rows += 0.3 * generator.normal(size=(size, DIMENSION)) / np.sqrt(DIMENSION)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        yield rows.astype(np.float32)


def real() -> Features:
    """All images of a part, those to choose from first; one extractor has seen them all."""
    from benchmarks.datasets import Part, feature_split

    dataset, extractor = REAL
    split = feature_split(dataset, Part.JUDGED, extractor)
    return np.concatenate([split.pool, split.test])


@dataclass(frozen=True)
class Files:
    """Features and graphs of this run, in a directory that goes when it ends."""

    directory: Path

    def features(self, data: str, n: int) -> Path | None:
        """Written when first asked for; None if there are not as many rows."""
        path = self.directory / f"{data}-{n}.npy"
        if path.exists():
            return path
        return self._write_clustered(path, n) if data == "clustered" else self._write_real(path, n)

    def graph(self, data: str, n: int, features: Path) -> Path:
        """Built when first asked for."""
        from model.neighbours import NeighbourGraph

        path = self.directory / f"{data}-{n}-graph.npz"
        if not path.exists():
            tell(f"building the graph of {n:,} {data} rows")
            NeighbourGraph.build(np.load(features)).save(path)
        return path

    def _write_clustered(self, path: Path, n: int) -> Path:
        tell(f"making {n:,} clustered rows")
        memory = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, DIMENSION))
        for place, rows in enumerate(clustered(n)):
            memory[place * CHUNK : place * CHUNK + len(rows)] = rows
        memory.flush()  # writing must not go on under a measurement
        return path

    def _write_real(self, path: Path, n: int) -> Path | None:
        everything = self.directory / "real.npy"
        if not everything.exists():
            tell(f"features of {' with '.join(REAL)}; computed if they are not in {CACHE}")
            try:
                np.save(everything, real())
            except (OSError, subprocess.CalledProcessError) as error:
                tell(f"real features are left out: {error}")
                np.save(everything, np.empty((0, 0)))
        rows = np.load(everything, mmap_mode="r")
        if len(rows) < n:
            return None
        np.save(path, rows[:n])
        return path


# ---- What is measured, and in which order ----


def acceptance() -> Iterator[tuple[Case, str]]:
    """The cases with a goal."""
    ten, hundred, million = (Case("clustered", n) for n in (10_000, 100_000, 1_000_000))
    yield ten, BARE
    for labels in (0, 100):
        for name in (DENSE, OURS, APRICOT, SCIKIT_ACTIVEML, SUBMODLIB):
            yield replace(ten, batch=100, labels=labels), name
    yield ten, BUILD
    for name in (DENSE, OURS, READY, BUILT):
        yield replace(ten, batch=100, labels=1_000), name
    yield hundred, BARE
    yield replace(hundred, batch=100), OURS
    yield hundred, BUILD
    for name in (OURS, READY, BUILT):
        yield replace(hundred, batch=1_000, labels=10_000), name
    yield replace(hundred, batch=1_000), OURS
    for labels in (0, million.n // 10):
        yield replace(million, batch=100, labels=labels), OURS


def grid(sizes: tuple[int, ...], dense_rows: int) -> Iterator[tuple[Case, str]]:
    """Everything else that ends in reasonable time, in growing n."""
    for n in sorted(sizes):
        for data in DATA:
            pool = Case(data, n)
            if n <= GRAPH_ROWS:
                yield pool, BARE
                yield pool, BUILD
            for labels in sorted({0, 100, 1_000, n // 10}):
                for batch in BATCHES:
                    case = replace(pool, batch=batch, labels=labels)
                    yield from ((case, name) for name in entrants(case, dense_rows))


def entrants(case: Case, dense_rows: int) -> Iterator[str]:
    """Those that can, oracle first: the others' picks are compared with its."""
    if case.labels + case.batch > case.n:
        return
    if case.n > GRAPH_ROWS:
        if case.batch == 100 and case.labels in (0, case.n // 10):
            yield OURS
        return
    plain = case.n**2 * case.batch <= DENSE_WORK
    if case.n <= dense_rows and plain:
        yield DENSE
    yield OURS
    if case.labels >= min(1_000, case.n // 10):
        yield from (READY, BUILT)
    if case.n <= PEER_ROWS:
        yield from (APRICOT, SUBMODLIB)
        if plain:
            yield SCIKIT_ACTIVEML


def plan(sizes: tuple[int, ...], dense_rows: int, *, quick: bool) -> list[tuple[Case, str]]:
    """Without packages that are not there."""
    absent = {name for name, package in PACKAGES.items() if not importlib.util.find_spec(package)}
    for name in sorted(absent):
        tell(f"{name} is left out: not installed, see requirements-bench.txt")
    wanted = dict.fromkeys([*acceptance(), *grid(sizes, dense_rows)])
    return [
        (case, name)
        for case, name in wanted
        if case.n in sizes and name not in absent and not (quick and case.batch > 100)
    ]


# ---- What is known already ----


def read_results(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


class Ledger:
    """The output, and beside it in `.bench` the picks that others are compared with."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = read_results(path)
        self._picks_path = CACHE / f"{path.stem}.picks.jsonl"
        if not path.exists():
            self._picks_path.unlink(missing_ok=True)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._append(list(COLUMNS))
        self._picks: dict[tuple[Case, str], Figures] = {}
        if self._picks_path.exists():
            for line in self._picks_path.read_text().splitlines():
                kept = json.loads(line)
                self._picks[Case(**kept["case"]), kept["contender"]] = kept

    def of(self, case: Case, contender: str) -> list[dict[str, str]]:
        key = [*map(str, vars(case).values()), contender]
        return [
            row
            for row in self.rows
            if [*(row[name] for name in vars(case)), row["contender"]] == key
        ]

    def radius(self, case: Case) -> float | None:
        """As an earlier measurement found it: with many labels that takes minutes."""
        key = [case.data, str(case.n), str(case.labels)]
        same = (row for row in self.rows if [row["data"], row["n"], row["labels"]] == key)
        return next((float(row["radius"]) for row in same if row["radius"]), None)

    def add(self, case: Case, contender: str, figures: Figures) -> dict[str, str]:
        repeat = len(self.of(case, contender)) + 1
        known = vars(case) | {"contender": contender, "repeat": repeat}
        everything = known | figures | self._agreement(case, contender, figures)
        cells = ["" if (v := everything.get(name)) is None else str(v) for name in COLUMNS]
        self._append(cells)
        self.rows.append(dict(zip(COLUMNS, cells, strict=True)))
        if contender in (DENSE, OURS) and repeat == 1 and figures.get("picks"):
            self._keep(case, contender, figures)
        return self.rows[-1]

    def _agreement(self, case: Case, contender: str, figures: Figures) -> Figures:
        others = (name for name in (DENSE, OURS) if name != contender)
        rival = next((name for name in others if (case, name) in self._picks), None)
        ignorant = contender in UNWEIGHTED and case.labels > 0
        if rival is None or ignorant or not figures.get("picks"):
            return {}
        kept = self._picks[case, rival]
        pairs = zip(figures["gain_of_each"], kept["gain_of_each"], strict=False)
        return {
            "compared_with": rival,
            "same_picks": "yes" if figures["picks"] == kept["picks"] else "no",
            "gains_difference": max(abs(mine - theirs) for mine, theirs in pairs),
        }

    def _keep(self, case: Case, contender: str, figures: Figures) -> None:
        kept = {name: figures[name] for name in ("picks", "gain_of_each")}
        kept |= {"case": asdict(case), "contender": contender}
        self._picks[case, contender] = kept
        with self._picks_path.open("a") as file:
            file.write(json.dumps(kept) + "\n")

    def _append(self, cells: list[str]) -> None:
        with self.path.open("a", newline="") as file:
            csv.writer(file).writerow(cells)


# ---- The run ----


def repeats(rows: list[dict[str, str]]) -> int:
    """How often to measure, by what the first time took."""
    if not rows or rows[0]["failure"]:
        return 1
    seconds = float(rows[0]["seconds"])
    return 3 if seconds < 10 else 2 if seconds < 60 else 1


def run(case: Case, contender: str, files: Files, ledger: Ledger, most: int) -> None:
    """All repeats that are missing."""
    while len(rows := ledger.of(case, contender)) < min(most, repeats(rows)):
        features = files.features(case.data, case.n)
        if features is None:
            return
        graph = files.graph(case.data, case.n, features) if contender == READY else None
        request = Request(
            **asdict(case),
            contender=contender,
            features=str(features),
            graph=str(graph) if graph else None,
            radius=ledger.radius(case),
        )
        figures = asked(request)
        if figures is None:
            tell(f"{case}: {contender} was stopped from outside; the next run measures it")
            return
        tell(f"{case}: {contender} {summary(ledger.add(case, contender, figures))}")


def asked(request: Request) -> Figures | None:
    """The figures from a new process, or its failure; None if somebody else stopped it."""
    patience = PEER_PATIENCE if request.contender in (DENSE, *PACKAGES) else OURS_PATIENCE
    command = [sys.executable, "-m", "benchmarks.selection", "--measure"]
    try:
        done = subprocess.run(  # noqa: S603 - ourselves
            [*command, json.dumps(asdict(request))],
            capture_output=True,
            text=True,
            timeout=patience,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"failure": f"not done after {patience} s"}
    if done.returncode == -signal.SIGTERM:
        return None
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:]
        return {"failure": f"exit code {done.returncode}: {''.join(last)}"}
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def summary(row: dict[str, str]) -> str:
    if row["failure"]:
        return f"failed: {row['failure']}"
    picks = {"": "", "yes": ", same picks", "no": f", OTHER PICKS than {row['compared_with']}"}
    return (
        f"{float(row['seconds']):.2f} s, {float(row['megabytes']):.0f} MB"
        + picks[row["same_picks"]]
    )


def tell(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stderr.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sizes", help="rows of the pools, with commas between them")
    parser.add_argument("--quick", action="store_true", help="small pools, batch 100, once each")
    parser.add_argument("--output", type=Path)
    parser.add_argument(
        "--dense-up-to", type=int, default=DENSE_ROWS, help="rows; 20000 needs 10 GB of memory"
    )
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parsed = parser.parse_args()
    if parsed.measure:
        sys.stdout.write("\n" + json.dumps(measure(Request(**json.loads(parsed.measure)))) + "\n")
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # what was started is stopped
    standard = QUICK_SIZES if parsed.quick else SIZES
    sizes = tuple(map(int, parsed.sizes.split(","))) if parsed.sizes else standard
    CACHE.mkdir(exist_ok=True)
    ledger = Ledger(parsed.output or (QUICK_RESULTS if parsed.quick else RESULTS))
    with tempfile.TemporaryDirectory(dir=CACHE) as directory:
        for case, contender in plan(sizes, parsed.dense_up_to, quick=parsed.quick):
            run(case, contender, Files(Path(directory)), ledger, 1 if parsed.quick else 3)


if __name__ == "__main__":
    main()
