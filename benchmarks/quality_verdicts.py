"""Whether the default strategy showed what it had to."""

from benchmarks.quality_curves import BASELINE, OURS, REGIMES, PerSeed, Results, best_in, error
from uherding_backend.simulation.statistics import estimate

PAPERS = "uherding-paper"
RIVALS = ("maxherding", "margin")


def verdicts(results: list[Results]) -> list[str]:
    """What the default had to show, and every place where it does not."""
    cells = [(one, regime) for one in results for regime in REGIMES if _has(one, regime)]
    points = [(one, column) for one in results for column in range(len(one.labels))]
    behind = [_lead(one, best_in(one, regime), regime) for one, regime in cells]
    papers = [_lead(one, PAPERS, regime, surely=True) for one, regime in cells]
    random = [_deficit(one, (BASELINE,), column) for one, column in points]
    rivals = [_deficit(one, RIVALS, column) for one, column in points]
    return [
        f"- Best, or within one standard error of the best, in {behind.count('')} of "
        f"{len(cells)} regimes and settings. Not in: {_listed(behind)}",
        "- Significantly below random (Student's 95 % interval of the paired difference) at "
        f"{_count(random)} of {len(points)} budgets: {_listed(random)}",
        "- Significantly below the better of MaxHerding and Margin at "
        f"{_count(rivals)} of {len(points)} budgets: {_listed(rivals)}",
        f"- Significantly below `{PAPERS}` in {_count(papers)} of {len(cells)} regimes and "
        f"settings: {_listed(papers)}",
        "",
        f"Of {len(points)} comparisons without any difference about {round(0.025 * len(points))} "
        "would be called significantly below by chance.",
        "",
    ]


def _has(results: Results, regime: str) -> bool:
    return results.gain(OURS, regime) is not None


def _lead(results: Results, winner: str, regime: str, *, surely: bool = False) -> str:
    """By how much another strategy is ahead of ours, or "" if by no more than noise."""
    ours, theirs = results.gain(OURS, regime), results.gain(winner, regime)
    if ours is None or theirs is None:
        return ""
    lead = float(theirs.mean() - ours.mean())
    noise = error(theirs - ours)
    if lead <= noise or (surely and not _worse(ours, theirs)):
        return ""
    place = f"{results.setting}, {regime.split()[0].lower()}"
    return f"{place}: {winner} by {lead:.1f} ± {noise:.1f}"


def _deficit(results: Results, others: tuple[str, ...], column: int) -> str:
    """Where ours is significantly below the best of the others at one budget, or ""."""
    rival = max(others, key=lambda name: results.accuracy[name][:, column].mean())
    mine, theirs = (results.accuracy[name][:, column] for name in (OURS, rival))
    if not _worse(mine, theirs):
        return ""
    gap = theirs.mean() - mine.mean()
    return f"{results.setting}, {results.labels[column]} labels: {rival} by {gap:.1f}"


def _worse(mine: PerSeed, other: PerSeed) -> bool:
    """Whether Student's 95 % interval of the paired difference lies below 0."""
    return estimate(mine - other).high < 0


def _count(places: list[str]) -> int:
    return len(places) - places.count("")


def _listed(places: list[str]) -> str:
    return "; ".join(place for place in places if place) + "." if any(places) else "none."
