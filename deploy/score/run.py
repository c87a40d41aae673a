"""A whole run: which parts are left, who does them, and what came of it."""

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
    """The outcome of a run.

    Attributes:
        parts: how many are this process's.
        done: how many it has scored now.
        skipped: how many were there.
        rows: that have results now.
        bad: that have none, in the parts that were there, too.
        bad_files: where these rows stand with their reasons.
        errors: why parts have no results.
        swept: files that dead processes had left.
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
    """The work that is left of a run.

    Attributes:
        settings: of the run.
        parts: that are left.
        summary: of what was there.
        output: where results are.
    """

    settings: ScoreSettings
    parts: list[Part]
    summary: Summary
    output: Output


def plan_run(settings: ScoreSettings, shard: tuple[int, int] = (0, 1)) -> Plan:
    """Look at what is to do, and what of it is done.

    Args:
        settings: of the run.
        shard: the number of the share that is this process's, and how many there are.

    Raises:
        NotFoundError: there is no model, or there are no files.
        FailedPreconditionError: the output holds results of another run.
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
    # Each share looks at all files, and the first tells of those that cannot be cut.
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
    """Do what is left.

    Args:
        plan: from `plan_run`.
        workers: processes; with one, this one does it.
        engine: who does it instead: settings, parts and `report` to results in any order.
        report: told how many rows more are done.
        finished: told of each part.

    Raises:
        OpError: the model cannot run, or results cannot be written. What is done is kept.
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
