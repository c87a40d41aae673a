"""`tf.compat.v1.app`: programs with flags."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def run(
    main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None
) -> NoReturn:
    """Run a program and end the process.

    If absl is installed, it parses the flags and passes undefined ones on to `main`.

    Args:
        main: called with the arguments that are no flags, the program's name first; None: the
            function `main` of the program.
        argv: the arguments; None: those of the process.

    Raises:
        SystemExit: always, with what `main` gives.
    """
    called = main if main is not None else sys.modules["__main__"].main
    given = list(sys.argv if argv is None else argv)
    try:
        absl_app: Any = importlib.import_module("absl.app")
    except ImportError:
        sys.exit(called(given))
    flags = importlib.import_module("absl.flags").FLAGS
    absl_app.run(main=called, argv=given, flags_parser=lambda args: flags(args, known_only=True))
    raise SystemExit  # absl has ended the process by now


def __getattr__(name: str) -> Any:
    if name != "flags":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module("pinnace.compat.v1.flags")
