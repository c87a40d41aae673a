"""The list of commands, as typer shows it."""

# No `from __future__ import annotations`: typer reads the annotations.
from importlib import metadata
from typing import Annotated

import typer

from pinnace.deploy.cli.export import export
from pinnace.deploy.cli.show import show

USAGE = 2

app = typer.Typer(
    name="pinnace",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="SavedModels without TensorFlow: look at them, serve them, export them.",
)
app.command()(show)
app.command()(export)


@app.command(
    help="Serve models over HTTP; `pinnace serve --help` lists the flags.", add_help_option=False
)
def serve() -> None:
    """Only for the list of commands: `main` runs it before typer is loaded."""


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pinnace {metadata.version('pinnace')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Options that stand before the command."""
    del version


def run(arguments: list[str]) -> int:
    """Run a command line; the exit code. What a command raises is the caller's to tell."""
    try:
        result = app(arguments, prog_name="pinnace", standalone_mode=False)
    except typer.Exit as leaving:
        return leaving.exit_code
    except typer.Abort:
        return 130
    except Exception as error:
        # A usage error knows how to show itself.
        show_usage = getattr(error, "show", None)
        if show_usage is None:
            raise
        show_usage()
        return int(getattr(error, "exit_code", USAGE))
    return result if isinstance(result, int) else 0
