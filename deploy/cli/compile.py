"""`pinnace compile`: a command of scripts for 0.1, which has nothing to do any more."""

# No `from __future__ import annotations`: typer reads the annotations.

from pinnace.deploy.cli.warmup import Ignored, print_not_needed


def compile(arguments: Ignored = None) -> int:
    """Nothing is to be compiled: machine code is part of the installation.

    `pinnace show --machine` says whether the installation has machine code for this machine.
    """
    del arguments
    print_not_needed("compile")
    return 0
