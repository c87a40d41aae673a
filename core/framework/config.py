"""Settings of the process: threads, tier, fusion, cache folder, determinism, eager functions.

Read once from the environment:

    PINNACE_THREADS        threads of one op; 0, the default, leaves it to the libraries
    PINNACE_TIER           auto, eager, plan or compiled
    PINNACE_FUSION         1 or 0: whether elementwise chains become one kernel
    PINNACE_CACHE          folder for downloaded models, and graphs to report; empty keeps nothing
    PINNACE_DETERMINISM    1 or 0: results that do not depend on the order of threads
    PINNACE_EAGER          1 or 0: functions run as plain Python
    PINNACE_CHECK          1 or 0: each call by machine code is compared with the plan
    PINNACE_POISON         1 or 0: memory that is to be written is filled with NaN first (for tests)
"""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, cast, get_args

from pinnace import late
from pinnace.framework.devices import LogicalDevice as LogicalDevice
from pinnace.framework.devices import LogicalDeviceConfiguration as LogicalDeviceConfiguration
from pinnace.framework.devices import PhysicalDevice as PhysicalDevice
from pinnace.framework.devices import (
    get_logical_device_configuration as get_logical_device_configuration,
)
from pinnace.framework.devices import get_soft_device_placement as get_soft_device_placement
from pinnace.framework.devices import get_visible_devices as get_visible_devices
from pinnace.framework.devices import list_logical_devices as list_logical_devices
from pinnace.framework.devices import list_physical_devices as list_physical_devices
from pinnace.framework.devices import (
    set_logical_device_configuration as set_logical_device_configuration,
)
from pinnace.framework.devices import set_soft_device_placement as set_soft_device_placement
from pinnace.framework.devices import set_visible_devices as set_visible_devices
from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pinnace.framework import threading as threading

Tier: TypeAlias = Literal["auto", "eager", "plan", "compiled"]
TIERS: tuple[str, ...] = get_args(Tier)
_CACHES = ("PINNACE_CACHE", "LOCALAPPDATA", "XDG_CACHE_HOME")


@dataclass(slots=True)
class Settings:
    """The process-wide settings. Read where they are used, changed through the functions below.

    Attributes:
        tier: how functions run: see `set_tier`.
        fusion: whether elementwise chains become one kernel.
        deterministic: whether results must not depend on the order of threads; pins the tier.
        run_eagerly: whether functions run as plain Python.
        intra_op_threads: threads of one op; 0 leaves it to the libraries.
        inter_op_threads: ops that run at once; 0 leaves it to the engine.
        poison: whether functions that are traced from now on fill each array that they are to write
            with NaN before (integers with 0xAA): a number that was not written is seen. Slow.
        check: whether each call of a network, a table or a region runs the plan as well, gives its
            results, and compares: what does not agree is logged, and not used any more. Slow.
        caches: the folders of caches, by their environment variables.
    """

    tier: Tier = "auto"
    fusion: bool = True
    deterministic: bool = False
    run_eagerly: bool = False
    intra_op_threads: int = 0
    inter_op_threads: int = 0
    poison: bool = False
    check: bool = False
    caches: Mapping[str, str] = field(default_factory=dict)

    @property
    def cache(self) -> Path | None:
        """Folder for copies of models and graphs to report; None keeps nothing."""
        return _cache_folder(self.caches)

    @cache.setter
    def cache(self, folder: Path | None) -> None:
        self.caches = {"PINNACE_CACHE": "" if folder is None else str(folder)}

    @property
    def pinned_tier(self) -> Tier:
        """The tier to use: `plan` if determinism excludes a choice by measurement."""
        return "plan" if self.tier == "auto" and self.deterministic else self.tier


def settings_from(environment: Mapping[str, str]) -> Settings:
    """The settings that environment variables give.

    Raises:
        InvalidArgumentError: a variable has a value that it cannot have.
    """
    return Settings(
        tier=_tier("PINNACE_TIER", environment.get("PINNACE_TIER", "auto")),
        fusion=_flag(environment, "PINNACE_FUSION", default=True),
        deterministic=_flag(environment, "PINNACE_DETERMINISM", default=False),
        run_eagerly=_flag(environment, "PINNACE_EAGER", default=False),
        poison=_flag(environment, "PINNACE_POISON", default=False),
        check=_flag(environment, "PINNACE_CHECK", default=False),
        intra_op_threads=_count("PINNACE_THREADS", environment.get("PINNACE_THREADS", "0")),
        caches={name: environment[name] for name in _CACHES if name in environment},
    )


def _tier(who: str, value: str) -> Tier:
    if value not in TIERS:
        raise InvalidArgumentError(f"{who} must be one of {', '.join(TIERS)}, got {value!r}")
    return cast("Tier", value)


def _flag(environment: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = environment.get(name, "").strip().lower()
    if text in ("1", "true", "yes", "on"):
        return True
    if text in ("0", "false", "no", "off"):
        return False
    if text:
        raise InvalidArgumentError(f"{name} must be 1 or 0, got {environment[name]!r}")
    return default


def _count(who: str, value: str | int) -> int:
    try:
        count = int(value)
    except (TypeError, ValueError):
        count = -1
    if count < 0:
        raise InvalidArgumentError(f"{who} must be a number of threads, at least 0, got {value!r}")
    return count


def _cache_folder(environment: Mapping[str, str]) -> Path | None:
    """The user's or the system's cache folder; None for a user without a home."""
    from pathlib import Path  # a thirtieth of the time that `import pinnace` takes

    asked = environment.get("PINNACE_CACHE")
    if asked is not None:
        return Path(asked) if asked else None
    try:
        if sys.platform == "win32":
            base = Path(environment.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        return None
    return base / "pinnace"


settings = settings_from(os.environ)
_PARTS = {
    "experimental": "experimental_config",
    "optimizer": "optimizer_options",
    "threading": "threading",
}


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Make functions run as plain Python from now on, to debug them line by line.

    Args:
        run_eagerly: True calls the Python function each time, and `print`, `breakpoint()` and
            `pdb` work inside; False traces again. Datasets' functions are not meant.
    """
    settings.run_eagerly = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """Whether functions run as plain Python."""
    return settings.run_eagerly


def experimental_run_functions_eagerly(run_eagerly: bool) -> None:
    """The older name of `run_functions_eagerly`."""
    run_functions_eagerly(run_eagerly)


def experimental_functions_run_eagerly() -> bool:
    """The older name of `functions_run_eagerly`."""
    return functions_run_eagerly()


def enable_op_determinism() -> None:
    """Have programs with fixed seeds give the same bits in every run, from now on."""
    settings.deterministic = True


def disable_op_determinism() -> None:
    """Undo `enable_op_determinism`."""
    settings.deterministic = False


def is_op_determinism_enabled() -> bool:
    """Whether `enable_op_determinism` is in effect."""
    return settings.deterministic


def get_tier() -> Tier:
    """The tier in which functions run: `auto`, `eager`, `plan` or `compiled`."""
    return settings.tier


def set_tier(tier: Tier) -> None:
    """Choose how functions run; takes effect between calls.

    Args:
        tier: `auto` runs the installation's machine code from the first call with a set of shapes.
            `compiled` passes its errors on, and gives any set of shapes a form: for tests of the
            engine. `plan` calls no machine code; `eager` does not reuse memory between calls
            either: each kernel by itself.

    Raises:
        InvalidArgumentError: the tier is unknown.
    """
    settings.tier = _tier("set_tier: tier", tier)


def get_intra_op_parallelism_threads() -> int:
    """The number of threads of one op; 0 leaves it to the libraries."""
    return settings.intra_op_threads


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Set the threads of one op, from now on: those of BLAS and of this library's kernels.

    TensorFlow takes it before the first op only; here it can be changed at any time.

    Args:
        num_threads: at least 1; 0 leaves it to the libraries.

    Raises:
        InvalidArgumentError: the number is negative.
    """
    settings.intra_op_threads = _count("set_intra_op_parallelism_threads: num_threads", num_threads)
    late.limit_threads(settings.intra_op_threads)


def get_inter_op_parallelism_threads() -> int:
    """The number last set: see `set_inter_op_parallelism_threads`."""
    return settings.inter_op_threads


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Set how many ops may run at once; 0 leaves it to the engine.

    The setting is stored but has no effect: a function's ops run one after another, each on several
    threads.

    Raises:
        InvalidArgumentError: the number is negative.
    """
    settings.inter_op_threads = _count("set_inter_op_parallelism_threads: num_threads", num_threads)


if TYPE_CHECKING:  # of the settings
    tier: Tier
    fusion: bool
    deterministic: bool
    run_eagerly: bool
    intra_op_threads: int
    inter_op_threads: int
    caches: Mapping[str, str]

if not TYPE_CHECKING:  # a checker that saw this would let every typo pass

    def __getattr__(name: str) -> object:
        """The submodules, some of which import this one, and settings such as `config.tier`."""
        if name in _PARTS:
            return importlib.import_module(f"pinnace.framework.{_PARTS[name]}")
        if name in Settings.__slots__:
            return getattr(settings, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_PARTS])
