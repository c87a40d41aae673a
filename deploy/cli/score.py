"""`pinnace score`: batch prediction on files of rows."""

# No `from __future__ import annotations`: typer reads the annotations.
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from pinnace.deploy.cli.terminal import Terminal, print_json, time_text
from pinnace.framework.errors import FailedPreconditionError, InvalidArgumentError, OpError
from pinnace.framework.extras import install_command
from pinnace.framework.visible_text import visible

if TYPE_CHECKING:
    from pinnace.deploy.score import PartResult, Plan, Summary
    from pinnace.deploy.score.run import Engine

BAD_ROWS = 3
_FAILED = 1
_TOLD = 5  # the number of errors and bad files that are printed
_LOCAL, _RAY = "local", "ray"


def score(
    model: Annotated[
        str,
        typer.Argument(
            help="A SavedModel's folder, or a .onnx, .keras, .h5, .tflite, jax.export or frozen "
            ".pb file.",
            show_default=False,
        ),
    ],
    inputs: Annotated[
        list[str],
        typer.Option(
            "--input",
            help="A file, a pattern such as 'data/*.parquet', a folder, or a URL of those "
            "(s3://…, gs://…). May be repeated.",
            metavar="PATH",
            show_default=False,
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            help="A folder, or its URL: a file of results for each file.",
            metavar="DIR",
            show_default=False,
        ),
    ],
    signature: Annotated[
        str | None,
        typer.Option(
            "--signature",
            "--signature_def",
            help="Which signature; serving_default or the only one.",
        ),
    ] = None,
    outputs: Annotated[
        str | None,
        typer.Option(help="Only these outputs, comma-separated.", metavar="NAMES"),
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            help="The columns that an input is made of, in order: a,b,c for a model with one "
            "input, else INPUT=a,b,c. May be repeated.",
            metavar="COLUMNS",
        ),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(help="Columns to carry over, comma-separated.", metavar="COLUMNS"),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Of the results: parquet, csv, jsonl or tfrecord; as the input, else jsonl.",
        ),
    ] = None,
    input_format: Annotated[
        str | None,
        typer.Option(
            help="parquet, csv, tsv, jsonl, tfrecord, npy or npz, where names do not say it."
        ),
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(help="Rows of one run of the model; by the size of a row, at most 1024."),
    ] = None,
    rows_per_part: Annotated[
        int | None,
        typer.Option(help="Files with more rows become several parts, with a file each."),
    ] = None,
    refuse_nan: Annotated[
        bool, typer.Option("--refuse-nan", help="Rows with NaN or infinity in an input are bad.")
    ] = False,
    max_bad: Annotated[
        int, typer.Option(help="So many bad rows are no reason to exit with 3.")
    ] = 0,
    image_scale: Annotated[
        str,
        typer.Option(
            help="Values of a picture for an input of floats: 255 is 0..255, 1 is 0..1, -1 is "
            "-1..1."
        ),
    ] = "255",
    shard: Annotated[
        str | None,
        typer.Option(
            help="Only the share I of N of the files, I from 0; auto/N takes I from a Kubernetes "
            "Indexed Job or a Slurm array.",
            metavar="I/N",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Processes, each with the model; 1, and with Ray as many as the cluster has CPUs.",
            show_default=False,
        ),
    ] = None,
    engine: Annotated[
        str, typer.Option(help="Whose processes: local, or ray for actors of a Ray cluster.")
    ] = _LOCAL,
    ray_address: Annotated[
        str | None,
        typer.Option(
            help="Of the cluster, HOST:PORT or auto; else RAY_ADDRESS, or a cluster here "
            "that ends with the run.",
            metavar="ADDRESS",
        ),
    ] = None,
    tags: Annotated[
        str | None,
        typer.Option("--tags", "--tag_set", help="Tag set, comma-separated.", metavar="TAGS"),
    ] = None,
    allow_io: Annotated[
        bool, typer.Option(help="Let the model's ops reach files: only if you trust it.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> int:
    """Score files of rows with MODEL: a file of results for each, which is whole or not there.

    What is there is not done again: the same command goes on where a killed one was. Rows that
    cannot be scored stand in DIR/_bad with the reason, and make the exit code 3; a file that cannot
    be read makes it 1.
    """
    from pinnace.deploy.score import ScoreSettings, parse_shard, plan_run, run_plan

    begun = time.perf_counter()
    settings = ScoreSettings(
        model,
        tuple(inputs),
        output,
        signature=signature,
        outputs=_names(outputs),
        features=tuple(features or ()),
        keep=_names(keep),
        format=form,
        input_format=input_format,
        batch_size=batch_size,
        rows_per_part=rows_per_part,
        finite=refuse_nan,
        image_scale=image_scale,
        tags=_names(tags),
        allow_io=allow_io,
    )
    share = (0, 1) if shard is None else parse_shard(shard)
    driver = _engine(engine, workers, ray_address)
    plan = plan_run(settings, share)
    ours = nullcontext() if driver is None else _stdout_kept()
    with ours, _progress(plan) as (report, finished):
        try:
            summary = run_plan(plan, workers or 1, driver, report, finished)
        except OpError as error:
            problem, tried, advice = str(error).partition("\n  Try: ")
            raise type(error)(f"{problem}; {_state(plan.summary)}{tried}{advice}") from error
    _tell(summary, time.perf_counter() - begun, as_json=as_json)
    if summary.errors:
        return _FAILED
    return BAD_ROWS if summary.bad > max_bad else 0


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(one.strip() for one in (text or "").split(",") if one.strip())


def _engine(name: str, workers: int | None, address: str | None) -> "Engine | None":
    """The engine that runs the parts; None for processes of this machine."""
    if workers is not None and workers < 1:
        raise InvalidArgumentError(f"--workers must be at least 1, got {workers}")
    if name not in (_LOCAL, _RAY):
        raise InvalidArgumentError(f"--engine must be {_LOCAL} or {_RAY}, got {name!r}")
    if name == _LOCAL:
        if address is not None:
            raise InvalidArgumentError(f"--ray-address is for --engine {_RAY}")
        return None
    try:
        from pinnace.integrations.ray import actor_pool
    except ImportError as error:
        raise FailedPreconditionError(
            f"--engine {_RAY} needs Ray: {error}\n  Try: {install_command('ray')}"
        ) from error
    return actor_pool(address, workers)


@contextmanager
def _stdout_kept() -> Iterator[None]:
    """A block in which engines print to stderr instead of stdout; Ray reports dead actors there."""
    sys.stdout.flush()
    with redirect_stdout(sys.stderr):
        try:
            kept = os.dup(1)
        except OSError:  # stdout is closed
            yield
            return
        try:
            os.dup2(2, 1)  # libraries and child processes use the file descriptor
            yield
        finally:
            os.dup2(kept, 1)
            os.close(kept)


@contextmanager
def _progress(
    plan: "Plan",
) -> Iterator[tuple[Callable[[int], object], Callable[["PartResult"], object]]]:
    """Show the progress in rows and parts, if stderr is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total} files, {task.fields[rows]:,} rows"),
        TimeElapsedColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as drawn:
        summary = plan.summary
        task = drawn.add_task("score", total=summary.parts, completed=summary.skipped, rows=0)
        rows = 0

        def report(count: int) -> None:
            nonlocal rows
            rows += count
            drawn.update(task, rows=rows)

        yield report, lambda _: drawn.advance(task)


def _state(summary: "Summary") -> str:
    there = summary.done + summary.skipped
    return f"{there} of {summary.parts} files are done, and the same command goes on from there"


def _tell(summary: "Summary", seconds: float, *, as_json: bool) -> None:
    for text in _some(summary.errors):
        problem, _, advice = text.partition("\n  Try: ")
        sys.stderr.write(visible(f"pinnace score: {' '.join(problem.split())}\n"))
        if advice:
            sys.stderr.write(visible(f"  Try: {advice}\n"))
    if as_json:
        print_json({**asdict(summary), "seconds": seconds})
        return
    terminal = Terminal()
    if summary.bad:
        terminal.line(f"{summary.bad:,} bad rows, with the reasons:")
        for name in _some(summary.bad_files):
            terminal.line(f"  {name}")
    failed = f", {len(summary.errors)} failed" if summary.errors else ""
    speed = f", {summary.rows / seconds:,.0f} rows a second" if summary.rows else ""
    terminal.line(
        f"{summary.rows:,} rows in {time_text(seconds)}{speed}; {summary.parts} "
        f"file{'' if summary.parts == 1 else 's'}: {summary.done} scored, "
        f"{summary.skipped} there before{failed}"
    )


def _some(texts: Sequence[str]) -> list[str]:
    more = len(texts) - _TOLD
    return [*texts[:_TOLD], f"… and {more} more"] if more > 0 else list(texts)
