"""`pinnace warmup`: does nothing; kept for scripts of version 0.1."""

# No `from __future__ import annotations`: typer reads the annotations.
from typing import Annotated, TypeAlias

import typer

from pinnace.deploy.cli.terminal import Terminal

Ignored: TypeAlias = Annotated[
    list[str] | None, typer.Argument(help="Whatever is given is ignored.", show_default=False)
]


def warmup(arguments: Ignored = None) -> int:
    """Do nothing: machine code is part of the installation.

    `pinnace show --machine` says whether the installation has machine code for this machine.
    """
    del arguments
    print_not_needed("warmup")
    return 0


def print_not_needed(command: str) -> None:
    """Print that a command does nothing, and what to run instead."""
    terminal = Terminal()
    terminal.line(
        f"pinnace {command} is not needed any more, and does nothing: machine code is part of the "
        "installation."
    )
    terminal.line("  Try: pinnace show --machine, which says whether it is for this machine")
