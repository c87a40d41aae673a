"""The list of commands, as typer shows it."""

# No `from __future__ import annotations`: typer reads the annotations.
from typing import Annotated

import typer

from pinnace.deploy.cli.diff import diff
from pinnace.deploy.cli.edit import edit
from pinnace.deploy.cli.export import export
from pinnace.deploy.cli.replay import replay
from pinnace.deploy.cli.run import run as run_model
from pinnace.deploy.cli.scan import scan
from pinnace.deploy.cli.show import show

USAGE = 2
_LOOK, _USE, _CHANGE = "Look at a model", "Use a model", "Change a model"

app = typer.Typer(
    name="pinnace",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="SavedModels without TensorFlow: look at them, run them, serve them, export them.",
    epilog="Each command explains itself: pinnace COMMAND --help",
)
app.command(rich_help_panel=_LOOK)(show)
app.command(rich_help_panel=_LOOK)(scan)
app.command(rich_help_panel=_LOOK)(diff)
app.command("run", rich_help_panel=_USE)(run_model)


@app.command(
    help="Serve models over HTTP and gRPC; `pinnace serve --help` lists the flags.",
    add_help_option=False,
    rich_help_panel=_USE,
)
def serve() -> None:
    """Only for the list of commands: `main` runs it before typer is loaded."""


app.command(rich_help_panel=_USE)(replay)
app.command(rich_help_panel=_CHANGE)(export)
app.command(rich_help_panel=_CHANGE)(edit)


def _print_version(wanted: bool) -> None:
    if wanted:
        from pinnace.framework.versions import VERSION  # reads the installed metadata

        typer.echo(f"pinnace {VERSION}")
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
        # A usage error knows how to tell itself.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "pinnace"
        if not str(message()):  # no command at all: the help was shown
            return USAGE
        typer.echo(f"{command}: {message()}\n  Try: {command} --help", err=True)
        return USAGE
    return result if isinstance(result, int) else 0
