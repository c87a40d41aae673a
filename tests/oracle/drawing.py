"""The oracle's random draws depend only on the seed, which `make oracle` sets and a run prints."""

from __future__ import annotations

import importlib
import os
import pkgutil
from typing import Any

from hypothesis import HealthCheck, settings

# ORACLE_EXAMPLES makes a short form of every test.
ASKED = int(os.environ.get("ORACLE_EXAMPLES") or 0)
# Modules that a run may load while it draws.
LOADED_LATE = ("pinnace", "pinnace.proto", "pinnace.saved_model", "oracle.programs")


def drawn(examples: int, **options: Any) -> settings:
    """Settings of a test: neither earlier failures nor CI's profile change its draws."""
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
    """Import lazy modules now, since Hypothesis also draws constants from loaded modules."""
    for name in LOADED_LATE:
        _load_below(name)


def _load_below(name: str) -> None:
    package = importlib.import_module(name)
    for found in pkgutil.iter_modules(package.__path__, f"{name}."):
        # Modules that run a program when imported, and those that need an optional engine.
        if found.name.endswith((".__main__", ".integrations")):
            continue
        if found.ispkg:
            _load_below(found.name)
        else:
            importlib.import_module(found.name)
