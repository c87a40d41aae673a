"""Loads the wanted versions of a model, and unloads the others.

Called by tasks of a `LoadQueue`. Loaded versions are added to the model's table under the
repository's lock; requests keep their version until they are answered.
"""

from __future__ import annotations

import gc
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from pinnace.engine import allocation
from pinnace.framework.errors import OpError
from pinnace.serving.config.model_config import Latest
from pinnace.serving.config.urls import public_url
from pinnace.serving.errors import LOG
from pinnace.serving.memory import give_back
from pinnace.serving.models.sources import find_places
from pinnace.serving.models.version_loader import VersionLoader
from pinnace.serving.models.versions import State, VersionStatus
from pinnace.serving.observing.load_metrics import LoadMetrics

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet
    from contextlib import AbstractContextManager

    from pinnace.serving.config.settings import Settings
    from pinnace.serving.config.traffic import Split
    from pinnace.serving.models.load_queue import LoadQueue
    from pinnace.serving.models.model_state import ServedModel
    from pinnace.serving.models.servable import Servable
    from pinnace.serving.models.sources import VersionLocation
    from pinnace.serving.models.tables import Table
    from pinnace.serving.models.version_loader import Loader

_COLLECT_EVERY = 200  # times the duration of a collection
_MOST_GROWTH_BYTES = 64 * 2**20  # since the last collection; beyond it the next one is due


class VersionUpdater:
    """Loads and unloads the versions of models.

    Args:
        settings: retries of loads, and the versions with weights.
        loader: loads the model in a folder.
        queue: the queue of loads.
        writing: the lock for replacing a model's table; callers may hold it already.

    Attributes:
        is_starting: whether the server has not started yet: loads are urgent then, and the start
            reports failures.
        loads: counts loads and warm-ups.
    """

    def __init__(
        self,
        settings: Settings,
        loader: Loader,
        queue: LoadQueue,
        writing: AbstractContextManager[bool],
    ) -> None:
        self.is_starting = True
        self.loads = LoadMetrics()
        self._settings = settings
        self._versions = VersionLoader(settings, loader)
        self._queue = queue
        self._writing = writing
        self._splits = {split.model: split for split in settings.version_weights}
        self._has_garbage = False
        self._collect_at = 0.0
        self._resident = 0  # resident bytes after the last collection

    def load_wanted(self, model: ServedModel) -> list[int]:
        """Load the wanted versions that exist; return the loaded ones that are to be unloaded."""
        if not self._is_wanted(model):
            return []
        try:
            found = find_places(model.config.base_path)
        except OpError as error:
            if model.problem is None and model.table.newest is not None:
                LOG.warning("model '%s': %s; the loaded versions stay", model.config.name, error)
            model.problem = error
            return []
        model.problem = None
        with self._writing:
            model.forget_failures(found.keys())
        aside = model.table.aside
        wanted = self.wanted_of(model, found.keys())
        for version in sorted(wanted, reverse=True):
            self._try_load(model, version, found[version])
        if isinstance(model.config.policy, Latest) and model.table.newest is None:
            # TensorFlow Serving then serves nothing. Here a restart must not lose what was kept
            # without it.
            for version in sorted(found.keys() - wanted, reverse=True):
                if self._try_load(model, version, found[version]):
                    break
        # Unwanted versions are unloaded once a wanted one answers.
        answering = wanted - aside
        if answering and not answering & model.table.servables.keys():
            return []
        return sorted(model.table.servables.keys() - wanted)

    @staticmethod
    def _is_wanted(model: ServedModel) -> bool:
        return model.is_wanted and not model.is_retired

    def wanted_of(self, model: ServedModel, found: AbstractSet[int]) -> set[int]:
        """Return the versions to serve of those found."""
        split = self._splits.get(model.config.name)
        named = split.versions() if split is not None else frozenset()
        # Shadows are additional to the policy's choice: the newest is often the one to try.
        aside = model.table.aside
        return model.config.policy.choose(found - aside) | (found & (aside | named))

    def _try_load(self, model: ServedModel, version: int, place: VersionLocation) -> bool:
        """Load a version; whether it answers."""
        if version in model.table.servables:
            return True
        settings = self._settings
        fingerprint = place.fingerprint()
        if not model.may_try(
            version, fingerprint, settings.max_load_retries, settings.load_retry_s
        ):
            return False
        name = model.config.name
        where = f"{public_url(model.config.base_path).rstrip('/')}/{version}"
        try:
            with ExitStack() as loading:
                with self._writing:
                    if not self._is_wanted(model):
                        return False
                    status = VersionStatus(version, State.LOADING)
                    model.table = model.table.with_status(status)
                    stop = loading.enter_context(self._queue.loading(name, where))
                servable = self._versions.load(
                    name,
                    version,
                    place,
                    where,
                    stop=stop,
                    metrics=self.loads,
                    is_urgent=self.is_starting,
                )
        except Exception as error:  # no error of a model may stop the server or the old version
            with self._writing:
                if self._is_wanted(model):
                    model.note_failure(version, fingerprint, error)
                    if not self.is_starting:  # otherwise `start` reports it
                        model.log_failure(version)
                else:
                    model.note_end(version)
            return False
        with self._writing:
            if not self._is_wanted(model):
                servable.close()
                model.note_end(version)
                return False
            model.failures.pop(version, None)
            table = model.table.with_status(VersionStatus(version, State.AVAILABLE))
            model.table = table.with_servables({**table.servables, version: servable})
        LOG.info("model '%s' version %d is available", name, version)
        self.tell_parts(model, table)
        return True

    def unload(self, model: ServedModel, version: int) -> bool:
        """Unload a version; whether it was loaded. The lock must be held."""
        servables = dict(model.table.servables)
        servable = servables.pop(version, None)
        if servable is None:
            return False
        table = model.table.with_status(VersionStatus(version, State.UNLOADING))
        model.table = table.with_servables(servables)
        self.tell_parts(model, table)
        self.close(servable)
        model.note_end(version)
        return True

    def close(self, servable: Servable) -> None:
        """Close a version; its memory is freed once it is no longer referenced."""
        servable.close()
        self._has_garbage = True

    def collect(self) -> None:
        """Collect the garbage of unloaded versions.

        Weights are freed with the last request, except for models with tables: these, and the
        graphs and constants of all models, are in reference cycles. Python collects cycles after a
        number of allocations, regardless of their memory. Since a collection blocks all other
        threads, it runs for only a small part of the time, unless the process has grown by much.
        """
        if not self._has_garbage:
            return
        grown = allocation.resident() - self._resident
        if time.monotonic() < self._collect_at and grown < _MOST_GROWTH_BYTES:
            return
        self._has_garbage = False
        begin = time.thread_time()
        gc.collect()
        give_back()
        self._collect_at = time.monotonic() + _COLLECT_EVERY * (time.thread_time() - begin)
        self._resident = allocation.resident()

    def tell_parts(self, model: ServedModel, before: Table) -> None:
        """Log how a model divides its requests, if that has changed."""
        split = self._splits.get(model.config.name)
        if split is None or self.is_starting or not self._is_wanted(model):
            return
        parts = parts_of(split, model.table)
        if parts and parts != parts_of(split, before):
            told = ", ".join(f"version {one}: {parts[one]:.4g}" for one in sorted(parts))
            LOG.info("model '%s' divides its requests: {%s}", model.config.name, told)


def parts_of(split: Split, table: Table) -> dict[int, float]:
    """Version -> its fraction, from 0 to 1, of the requests that name none."""
    found: dict[int, float] = {}
    for servable, part in split.parts(table.target):
        found[servable.version] = found.get(servable.version, 0.0) + part
    return found
