"""A served model: its table of versions, and its errors."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pinnace.framework.errors import (
    INVALID_ARGUMENT,
    OK,
    DeadlineExceededError,
    NotFoundError,
    OpError,
    exception_type_from_error_code,
)
from pinnace.serving.config.urls import public_url
from pinnace.serving.errors import LOG, canonical_code, one_line
from pinnace.serving.models.tables import Table
from pinnace.serving.models.versions import State, VersionStatus

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from pinnace.serving.config.model_config import ModelConfig


_MOST_TRIES = 2**31


@dataclass(slots=True)
class _Failure:
    """A version that failed to load, and when it may be retried."""

    fingerprint: tuple[object, ...]
    tries: int
    at_s: float


class ServedModel:
    """The repository's state of a model, changed only while the repository's lock is held.

    Args:
        config: the model's configuration.
        aside: its shadow versions.

    Attributes:
        table: the table that requests read.
        failures: versions that failed to load.
        problem: the error of reading its folder; None if it can be read.
        is_wanted: whether it is served; False once a client has unloaded it.
        is_retired: whether it was replaced or removed, so that pending loads are discarded.
    """

    def __init__(self, config: ModelConfig, aside: frozenset[int]) -> None:
        self.config = config
        self.table = Table(aside=aside)
        self.failures: dict[int, _Failure] = {}
        self.problem: OpError | None = None
        self.is_wanted = True
        self.is_retired = False

    def may_try(
        self, version: int, fingerprint: tuple[object, ...], max_retries: int, retry_s: float
    ) -> bool:
        """Whether a version may be loaded now.

        Args:
            version: the version's number.
            fingerprint: the fingerprint of its files: a changed version may be tried at once.
            max_retries: the limit of retries of an unchanged version.
            retry_s: the time between retries.
        """
        failure = self.failures.get(version)
        if failure is None or failure.fingerprint != fingerprint:
            return True
        waited = time.monotonic() - failure.at_s >= retry_s
        return failure.tries <= max_retries and waited

    def note_failure(self, version: int, fingerprint: tuple[object, ...], error: Exception) -> None:
        """Note that a version failed to load."""
        before = self.failures.get(version)
        tries = before.tries if before is not None and before.fingerprint == fingerprint else 0
        if isinstance(error, DeadlineExceededError):
            tries = _MOST_TRIES  # each try may leave a thread behind
        self.failures[version] = _Failure(fingerprint, tries + 1, time.monotonic())
        status = VersionStatus(version, State.END, canonical_code(error), one_line(error))
        self.table = self.table.with_status(status)

    def note_end(self, version: int) -> None:
        """Note that a version is no longer served or wanted."""
        self.table = self.table.with_status(VersionStatus(version, State.END))

    def forget_failures(self, found: AbstractSet[int]) -> None:
        """Forget the failures of versions that no longer exist.

        Args:
            found: the versions that exist.
        """
        for version in self.failures.keys() - found:
            del self.failures[version]
            self.table = self.table.without_status(version)

    def log_failure(self, version: int) -> None:
        """Log why a version failed to load."""
        status = self.table.statuses.get(version)
        if status is not None:
            name, message = self.config.name, status.message
            LOG.error("model '%s' version %d was not loaded: %s", name, version, message)

    def why_silent(self) -> OpError:
        """Return the error that says why none of its versions answers."""
        name, base = self.config.name, public_url(self.config.base_path)
        if self.problem is not None:
            return type(self.problem)(f"model '{name}': {self.problem}")
        failed = [s for s in self.table.statuses.values() if s.code != OK]
        if not failed and self.table.servables:
            return NotFoundError(
                f"model '{name}': {base} has only shadows, versions "
                f"{sorted(self.table.servables)}: another version must answer"
            )
        if not failed:
            return NotFoundError(
                f"model '{name}': no version under {base}: there must be "
                f"{base}/<number>/saved_model.pb or {base}/saved_model.pb{_models_in(base)}"
            )
        status = max(failed, key=lambda s: s.version)
        kind = exception_type_from_error_code(status.code or INVALID_ARGUMENT)
        return kind(f"model '{name}' version {status.version}: {status.message}")


def _models_in(base: str) -> str:
    """The advice if a folder contains models, each in a folder of its own."""
    try:
        inner = sorted(one for one in Path(base).iterdir() if one.is_dir())
    except OSError:  # a URL, or missing
        return ""
    models = [
        one
        for one in inner
        if (one / "saved_model.pb").is_file() or any(one.glob("[0-9]*/saved_model.pb"))
    ]
    told = " ".join(f"--model {one.name}={one}" for one in models[:3])
    more = f" and {len(models) - 3} more" if len(models) > 3 else ""
    return f"\n  Try: {told}{more}" if models else ""
