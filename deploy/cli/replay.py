"""`pinnace replay`: recorded requests, answered again and compared."""

# No `from __future__ import annotations`: typer reads the annotations.
import os
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated

import typer


def replay(
    records: Annotated[
        list[Path], typer.Argument(help="TFRecord files of PredictionLogs, or folders of these.")
    ],
    url: Annotated[str, typer.Option(help="A server to ask, as http://host:8501.")] = "",
    model: Annotated[
        Path | None, typer.Option(help="A SavedModel to run here, or a folder of versions.")
    ] = None,
    version: Annotated[int | None, typer.Option(help="Which version answers.")] = None,
    against: Annotated[
        int | None, typer.Option(help="Compare with this version, not with the recorded answers.")
    ] = None,
    rtol: Annotated[float, typer.Option(help="Relative tolerance.")] = 1e-4,
    atol: Annotated[float, typer.Option(help="Absolute tolerance.")] = 1e-5,
    limit: Annotated[int, typer.Option(help="Requests to replay; 0 is all.")] = 0,
) -> None:
    """Answer RECORDS again and compare; the exit code is 1 if answers differ.

    A server that wants an API key gets the one in PINNACE_API_KEY.
    """
    from rich.console import Console
    from rich.table import Table

    from pinnace.serving.observing.replay import Model, Server, Target
    from pinnace.serving.observing.replay import replay as run

    if bool(url) == (model is not None):
        raise typer.BadParameter("give either --url or --model")

    def target(number: int | None) -> Target:
        if model is not None:
            return Model(model, number)
        return Server(url, number, os.environ.get("PINNACE_API_KEY", ""))

    with ExitStack() as stack:
        other = None if against is None else stack.enter_context(closing(target(against)))
        tried = stack.enter_context(closing(target(version)))
        report = run(list(records), tried, other, rtol=rtol, atol=atol, limit=limit)
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"{report.requests} requests: {report.names[1]} against {report.names[0]}")
    if report.skipped:
        console.print(f"{report.skipped} records are no predict requests")
    for rows in (report.rows(), report.latency_rows()):
        table = Table(*rows[0])
        for row in rows[1:]:
            table.add_row(*row)
        if rows[1:]:
            console.print(table)
    for reason, count in report.failures.items():
        console.print(f"{count} failed: {reason}", markup=False)
    if not report.agrees:
        raise typer.Exit(1)
