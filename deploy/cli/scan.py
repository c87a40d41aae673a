"""`pinnace scan`: lists what a model could do, before it is trusted."""

# No `from __future__ import annotations`: typer reads the annotations.
import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from pinnace.deploy.cli.findings import LEVELS, Findings, Scan
from pinnace.deploy.cli.terminal import Terminal, print_json
from pinnace.deploy.models.finding import find_model
from pinnace.deploy.models.kinds import KERAS, ONNX, SAVED_MODEL
from pinnace.framework.errors import InvalidArgumentError

FOUND = 1
_STYLES = {"high": "bold red", "medium": "yellow", "low": "cyan", "info": "dim"}
_VERDICTS = {
    "high": "Run it only if you trust who made it, or where it can do no harm.",
    "medium": "Some of it could not be judged: see what it says above.",
    "low": "Nothing found that reaches out of the model.",
    "info": "Nothing found that reaches out of the model.",
}


def scan(
    model: Annotated[
        Path,
        typer.Argument(
            help="A SavedModel's folder, or a .keras, .h5 or .onnx file.", show_default=False
        ),
    ],
    fail_on: Annotated[
        str, typer.Option(help="Exit with 1 from this level on: low, medium, high or never.")
    ] = "high",
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> int:
    """Tell what MODEL could do: files, network, Python, custom ops. Nothing of it is run.

    Exits with 1 if something of the level of --fail-on was found, 2 if MODEL cannot be read.
    """
    if fail_on not in (*LEVELS[1:], "never"):
        raise InvalidArgumentError(f"--fail-on must be low, medium, high or never; got {fail_on!r}")
    path, kind = find_model(model, (SAVED_MODEL, KERAS, ONNX))
    found = Scan(str(path), kind, _findings(path, kind).all())
    if as_json:
        print_json({**dataclasses.asdict(found), "level": found.level})
    else:
        _print(Terminal(), found)
    is_bad = fail_on != "never" and LEVELS.index(found.level) >= LEVELS.index(fail_on)
    return FOUND if is_bad else 0


def _findings(path: Path, kind: str) -> Findings:
    if kind == ONNX:
        from pinnace.deploy.cli import findings_onnx

        return findings_onnx.findings_of(path)
    if kind == KERAS:
        from pinnace.deploy.cli import findings_keras

        return findings_keras.findings_of(path)
    from pinnace.deploy.cli import findings_readiness, findings_saved_model

    found = findings_saved_model.findings_of(path)
    findings_readiness.add_readiness(found, path)
    return found


def _print(terminal: Terminal, found: Scan) -> None:
    terminal.heading(found.path, found.kind)
    for one in found.findings:
        count = f" ({one.count})" if one.count > 1 else ""
        terminal.line(f"{one.level:6}  {one.title}{count}", _STYLES[one.level])
        terminal.line(f"        {one.meaning}")
        for place in one.places:
            terminal.line(f"        - {place}", "dim")
        if one.count > len(one.places) > 0:
            terminal.line(f"        - and {one.count - len(one.places)} more", "dim")
    terminal.line(f"{found.level}: {_VERDICTS[found.level]}", _STYLES[found.level])
