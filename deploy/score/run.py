"""A run: planning the remaining parts, running them, and the summary."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinnace.deploy.score.parts import list_parts
from pinnace.deploy.score.run_record import claim
from pinnace.deploy.score.scorer import PartResult, Scorer
from pinnace.deploy.score.stores import open_output
from pinnace.deploy.score.workers import score_in_processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pinnace.deploy.score.parts import Part
    from pinnace.deploy.score.settings import ScoreSettings
    from pinnace.deploy.score.stores import Output

    Engine = Callable[
        [ScoreSettings, Sequence[Part], Callable[[int], object]], Iterable[PartResult]
    ]


@dataclass(slots=True)
class Summary:
    """The results of a run.

    Attributes:
        parts: the number of this process's parts.
        done: the number of parts that it scored.
        skipped: the number of parts that were done before.
        rows: the rows with results now.
        bad: the rows without results, including those of earlier parts.
        bad_files: the files that list bad rows with reasons.
        errors: the reasons for parts without results.
        swept: the number of files of dead processes that were removed.
    """

    parts: int = 0
    done: int = 0
    skipped: int = 0
    rows: int = 0
    bad: int = 0
    bad_files: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    swept: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """The remaining work of a run.

    Attributes:
        settings: the run's settings.
        parts: the remaining parts.
        summary: the results of the earlier parts.
        output: the place of the results.
    """

    settings: ScoreSettings
    parts: list[Part]
    summary: Summary
    output: Output


def plan_run(settings: ScoreSettings, shard: tuple[int, int] = (0, 1)) -> Plan:
    """Find the work of a run, and what remains of it.

    Args:
        settings: the run's settings.
        shard: the index of this process's share, and the number of shares.

    Raises:
        NotFoundError: the model or the files do not exist.
        FailedPreconditionError: the output holds results of a different run.
        InvalidArgumentError: settings are wrong.
    """
    settings.check()
    recorded = settings.recorded()
    output = open_output(settings.output)
    parts, problems = list_parts(
        settings.inputs,
        input_format=settings.input_format,
        wanted=settings.format,
        rows_per_part=settings.rows_per_part,
        is_output=output.contains,
    )
    claim(output, recorded, [part.target for part in parts])
    index, count = shard
    mine = parts[index::count]
    summary = Summary(parts=len(mine), swept=output.sweep())
    # Every share lists all files, and the first one reports those that cannot be split.
    summary.errors += list(problems.values()) if index == 0 else []
    there = output.names()
    left = []
    for part in mine:
        if part.target not in there:
            left.append(part)
            continue
        summary.skipped += 1
        if part.bad in there:
            _add_bad(summary, output, part.bad, (output.read(part.bad) or b"").count(b"\n"))
    return Plan(settings, left, summary, output)


def run_plan(
    plan: Plan,
    workers: int = 1,
    engine: Engine | None = None,
    report: Callable[[int], object] = lambda _: None,
    finished: Callable[[PartResult], object] = lambda _: None,
) -> Summary:
    """Run the remaining parts.

    Args:
        plan: the result of `plan_run`.
        workers: the number of processes; with 1, this process does the work.
        engine: runs the parts instead: (settings, parts, report) -> results in any order.
        report: called with the number of further rows that are done.
        finished: called with the result of each part.

    Raises:
        OpError: the model cannot run, or results cannot be written. Finished parts are kept.
    """
    summary = plan.summary
    by_target = {part.target: part for part in plan.parts}
    for result in _results(plan, workers, engine, report):
        finished(result)
        if result.error is not None:
            summary.errors.append(result.error)
            continue
        summary.done += 1
        summary.rows += result.rows
        if result.bad:
            _add_bad(summary, plan.output, by_target[result.target].bad, result.bad)
    return summary


def _results(
    plan: Plan, workers: int, engine: Engine | None, report: Callable[[int], object]
) -> Iterator[PartResult]:
    if not plan.parts:
        return
    if engine is not None:
        yield from engine(plan.settings, plan.parts, report)
    elif workers > 1:
        yield from score_in_processes(plan.settings, plan.parts, workers, report)
    else:
        scorer = Scorer(plan.settings)
        for part in plan.parts:
            yield scorer.score(part, report)


def _add_bad(summary: Summary, output: Output, name: str, count: int) -> None:
    summary.bad += count
    summary.bad_files.append(f"{output.shown}/{name}")
