"""`pinnace export MODEL out.tflite`: a verified file for LiteRT."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pinnace.deploy.cli.export_page import page_line
from pinnace.framework.visible_text import visible

if TYPE_CHECKING:
    from pinnace.deploy.lite import LiteReport

ENDING = ".tflite"


def refuse_lite_options(output: Path, given: Mapping[str, bool]) -> None:
    """Refuse options of .tflite files for other output files.

    Args:
        output: the output file.
        given: flag -> whether it was given.

    Raises:
        InvalidArgumentError: such an option was given.
    """
    from pinnace.framework.errors import InvalidArgumentError

    for flag, is_given in given.items():
        if is_given:
            raise InvalidArgumentError(f"{flag} is for files that end in {ENDING}, got {output}")


def export_lite(
    model: object,
    output: Path,
    *,
    foreign: Mapping[str, bool],
    signature: str,
    tags: str | None,
    report: Path | None,
    **options: Any,
) -> None:
    """Write a .tflite file, and print a summary.

    Args:
        model: a folder, or a frozen graph's function.
        output: the output file.
        foreign: flags of ONNX files -> whether they were given.
        signature: a signature, or several separated by commas.
        tags: tags of the graph, separated by commas.
        report: a `.json` or `.md` file for the report.
        options: options of `pinnace.deploy.lite.export`.

    Raises:
        InvalidArgumentError: an option of another format was given.
    """
    from pinnace.deploy import lite
    from pinnace.framework.errors import InvalidArgumentError

    for flag, is_given in foreign.items():
        if is_given:
            raise InvalidArgumentError(f"{flag} is for ONNX files, got {output}")
    if report is not None and report.suffix not in {".json", ".md"}:
        raise InvalidArgumentError(f"a report must end in .json or .md, got {report}")
    keys = signature.split(",")
    found = lite.export(
        model,
        output,
        signature=keys[0] if len(keys) == 1 else keys,
        tags=tags.split(",") if tags else None,
        **options,
    )
    for line in found.lines():
        typer.echo(visible(line))
    if options.get("web") is not None:
        typer.echo(visible(page_line(options["web"])))
    if report is not None:
        _write(report, found)
        typer.echo(visible(f"{report}: operators, differences"))


def _write(place: Path, found: "LiteReport") -> None:
    """Write the report to a file."""
    from pinnace.storage.atomic import write_file

    if place.suffix == ".json":
        text = json.dumps(found.as_dict(), indent=2, default=str) + "\n"
    else:
        rows = "\n".join(f"| {kind} | {count} |" for kind, count in found.op_counts.items())
        text = "\n".join(
            [
                f"# {found.path}",
                "",
                *(f"- {line.strip()}" for line in found.lines()),
                "",
                "| operator | how often |",
                "|---|---|",
                rows,
                "",
            ]
        )
    write_file(place, text.encode())
