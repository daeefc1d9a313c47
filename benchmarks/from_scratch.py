"""The paper's own setting, small: a network trained from scratch after every batch of labels.

    OMP_NUM_THREADS=1 .venv/bin/python -m benchmarks.from_scratch [--seeds 0 1 2]

A ResNet-18 with 16 instead of 64 channels in its first stage starts from random weights each time
and sees the images of Fashion-MNIST themselves; coverage uses `patches` features of the same
images, as the paper uses SimCLR's. Curves are kept in `.bench/from-scratch.csv`; those that other
code has made are measured again.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from benchmarks.datasets import Part, fashion_mnist, feature_split, resized
from benchmarks.result_files import CACHE, CODE, append, code_digest, keep_only, read_results
from model.finetuning import Finetuning
from model.radius import TYPICAL
from model.simulate import LabelledData, Trial
from model.situation import Adaptation
from model.strategies import STRATEGIES

RESULTS = CACHE / "from-scratch.csv"
COLUMNS = ("strategy", "seed", "labels", "accuracy", "seconds", CODE)
MADE_BY = ("model", "benchmarks/datasets.py", "benchmarks/from_scratch.py")
BUDGETS = (20, 40, 60, 80, 100, 200)
POOL, TEST = 1500, 1000
NAMES = ("random", "margin", "maxherding", "uherding")
ONE_SPLIT = Adaptation(1, TYPICAL)  # as in the backend: every split trains one more network
TRAINING = Finetuning(start="resnet18:16", epochs=40, patience=10)


def data() -> LabelledData:
    split = fashion_mnist(Part.JUDGED)
    features = feature_split("fashion-mnist", Part.JUDGED, "patches")
    return LabelledData(
        features.pool,
        features.pool_labels,
        features.test[:TEST],
        features.test_labels[:TEST],
        resized(split.pool, 28),
        resized(split.test[:TEST], 28),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    seeds = parser.parse_args().seeds
    code = code_digest(MADE_BY)
    labelled = data()
    known = keep_only(RESULTS, COLUMNS, lambda row: row.get(CODE) == code)
    done = {(row["strategy"], int(row["seed"])) for row in known}
    for seed in seeds:
        trial = Trial.draw(labelled, share=POOL / len(labelled.labels), seed=seed)
        for name in NAMES:
            if (name, seed) not in done:
                steps = list(
                    trial.run(STRATEGIES[name], BUDGETS, fit=TRAINING, adaptation=ONE_SPLIT)
                )
                figures = [(s.labels, s.accuracy, s.seconds) for s in steps]
                append(RESULTS, [(name, seed, *figure, code) for figure in figures])
                say(f"{name} {seed}: {[round(figure[1], 3) for figure in figures]}")
    report()


def report() -> None:
    rows = read_results(RESULTS)
    say("| strategy | " + " | ".join(f"{n} labels" for n in BUDGETS) + " |")
    say("|---" * (len(BUDGETS) + 1) + "|")
    for name in NAMES:
        cells = []
        for budget in BUDGETS:
            found = [
                100 * float(row["accuracy"])
                for row in rows
                if row["strategy"] == name and int(row["labels"]) == budget
            ]
            spread = f" ± {np.std(found, ddof=1):.1f}" if len(found) > 1 else ""
            cells.append(f"{np.mean(found):.1f}{spread}" if found else "-")
        say(f"| {name} | " + " | ".join(cells) + " |")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
