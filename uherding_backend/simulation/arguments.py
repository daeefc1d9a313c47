"""What `uherding simulate` can be told. Loads nothing heavy: every command reads this."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, fields
from pathlib import Path

STRATEGIES = "random,margin,maxherding,uherding"
CLASSIFIERS = ("linear", "mlp")  # those of model/names.py that see features


@dataclass(frozen=True, slots=True)
class Options:
    """The arguments as given; `plan.py` makes sense of them."""

    features: Path | None
    images: Path | None
    csv: Path | None
    strategies: str = STRATEGIES
    budgets: str = ""
    seeds: int = 10
    output: Path = Path("simulation")
    extractor: str = "auto"
    test_share: float = 0.3
    pool_share: float = 0.9
    classifier: str = CLASSIFIERS[0]
    jobs: int = 0

    @property
    def data(self) -> Path:
        """Where the data is; one of the three is given."""
        return self.features or self.images or self.csv or Path()

    @classmethod
    def of(cls, parsed: argparse.Namespace) -> Options:
        """From what `add_arguments` parsed."""
        return cls(**{field.name: getattr(parsed, field.name) for field in fields(cls)})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where the data is, what is compared, and how."""
    _add_data(parser)
    parser.add_argument(
        "--strategies",
        default=STRATEGIES,
        metavar="A,B,...",
        help=f"what is compared; --list shows all (default: {STRATEGIES})",
    )
    parser.add_argument(
        "--budgets",
        default="",
        metavar="N,N,...",
        help="numbers of labels at which accuracy is measured, ascending (default: 20,40,...,100, "
        "then 200,300,...,1000, as far as the pool allows)",
    )
    parser.add_argument(
        "--seeds",
        type=int,
        default=10,
        metavar="N",
        help="repetitions; each draws its own pool (default: 10)",
    )
    parser.add_argument(
        "--pool-share",
        type=float,
        default=0.9,
        help="share of the pool that each seed draws; strategies that leave nothing to chance "
        "choose the same images each time, so how much their result hangs on the pool shows only "
        "when the pool differs (default: 0.9)",
    )
    parser.add_argument(
        "--classifier",
        choices=CLASSIFIERS,
        default=CLASSIFIERS[0],
        help=f"what is trained on the labels (default: {CLASSIFIERS[0]})",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("simulation"),
        help="directory of results.csv and report.html; the same command again goes on where it "
        "was stopped (default: simulation)",
    )
    parser.add_argument(
        "--jobs", type=int, default=0, help="seeds that run at once (default: number of cores)"
    )


def _add_data(parser: argparse.ArgumentParser) -> None:
    data = parser.add_mutually_exclusive_group(required=True)
    data.add_argument(
        "--features",
        type=Path,
        help=".npz file with features, labels, test_features and test_labels",
    )
    data.add_argument("--images", type=Path, help="directory with one sub-folder for each class")
    data.add_argument(
        "--csv", type=Path, help="file with two columns: image path (relative to the file), label"
    )
    data.add_argument("--list", action="store_true", help="list all strategies and end")
    parser.add_argument(
        "--extractor",
        default="auto",
        help="for --images and --csv: where features come from, as in UHERDING_FEATURES; those "
        "that learn see the pool only (default: auto)",
    )
    parser.add_argument(
        "--test-share",
        type=float,
        default=0.3,
        help="for --images and --csv: share of each class that is kept for judging (default: 0.3)",
    )
