"""How the oracle draws: by the seed alone, which `make oracle` gives and a run prints."""

from __future__ import annotations

import importlib
import os
import pkgutil
from typing import Any

from hypothesis import HealthCheck, settings

# ORACLE_EXAMPLES makes a short form of every test.
ASKED = int(os.environ.get("ORACLE_EXAMPLES") or 0)
# What a run may load while it draws.
LOADED_LATE = ("pinnace", "pinnace.proto", "pinnace.saved_model", "oracle.programs")


def drawn(examples: int, **options: Any) -> settings:
    """Settings of a test: neither what failed before nor CI's profile changes what it draws."""
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=False,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        **options,
    )


def load_all() -> None:
    """Load what is loaded late: Hypothesis also draws constants of the modules that it finds."""
    for name in LOADED_LATE:
        _load_below(name)


def _load_below(name: str) -> None:
    package = importlib.import_module(name)
    for found in pkgutil.iter_modules(package.__path__, f"{name}."):
        # What runs a program, and what needs an engine that is no dependency.
        if found.name.endswith((".__main__", ".integrations")):
            continue
        if found.ispkg:
            _load_below(found.name)
        else:
            importlib.import_module(found.name)
