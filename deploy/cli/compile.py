"""`pinnace compile`: does nothing; kept for scripts of version 0.1."""

# No `from __future__ import annotations`: typer reads the annotations.

from pinnace.deploy.cli.warmup import Ignored, print_not_needed


def compile(arguments: Ignored = None) -> int:
    """Do nothing: machine code is part of the installation.

    `pinnace show --machine` says whether the installation has machine code for this machine.
    """
    del arguments
    print_not_needed("compile")
    return 0
