"""`pinnace upgrade` as a module at TensorFlow's path."""

import sys
from collections.abc import Sequence

from pinnace.deploy.cli.main import main as run_command


def main(argv: Sequence[str] | None = None) -> int:
    """Upgrade programs of TensorFlow 1, and return the exit code.

    Args:
        argv: flags of `pinnace upgrade`; None: those of the process.
    """
    return run_command(["upgrade", *(sys.argv[1:] if argv is None else argv)])


if __name__ == "__main__":
    sys.exit(main())
