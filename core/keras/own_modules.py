"""User modules that define classes named in files: `--import MODULE`."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

# The processes that a command starts find it here.
VARIABLE = "PINNACE_IMPORT"


def tell(modules: Iterable[str]) -> None:
    """Search these modules for classes that a file names and that are not registered.

    They are imported when the first such class is met, and not before.
    """
    known = os.environ.get(VARIABLE, "").split(",")
    os.environ[VARIABLE] = ",".join(dict.fromkeys(name for name in [*known, *modules] if name))


def taken(arguments: list[str]) -> list[str]:
    """A command line without `--import MODULE`; registers the modules.

    Raises:
        ValueError: `--import` without a module.
    """
    left, modules = [], []
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            left += [argument, *rest]
        elif argument == "--import" or argument.startswith("--import="):
            name = argument.partition("=")[2] or next(rest, "")
            if not name or name.startswith("-"):
                raise ValueError("--import must be followed by the name of a module, got none")
            modules.append(name)
        else:
            left.append(argument)
    tell(modules)
    return left


def import_told() -> list[Any]:
    """Import the modules, from the working folder if they are not installed."""
    names = [name for name in os.environ.get(VARIABLE, "").split(",") if name]
    here = os.getcwd()  # noqa: PTH109 (sys.path holds texts)
    if names and here not in sys.path and "" not in sys.path:
        sys.path.append(here)
    try:
        return [importlib.import_module(name) for name in names]
    except ImportError as error:
        raise ImportError(f"--import: {error}") from error


def found_in(modules: Iterable[Any], named: str) -> Any:
    """The class or function of that name in one of the modules; None if there is none."""
    for module in modules:
        found = getattr(module, named, None)
        if inspect.isclass(found) or inspect.isfunction(found):
            return found
    return None
