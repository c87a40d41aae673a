"""Makes a version ready to answer: loads it, and runs it once, within limits."""

from __future__ import annotations

import time
import weakref
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from pinnace.framework.errors import UnimplementedError
from pinnace.serving.config.batching_config import PER_MODEL_FILE, read_batching_parameters
from pinnace.serving.errors import LOG
from pinnace.serving.models.patience import done_within
from pinnace.serving.models.servable import Servable
from pinnace.serving.models.warmup import warm_up
from pinnace.serving.running.limits import RunLimits

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pinnace.ops.running import Stop
    from pinnace.serving.config.batching_config import BatchOptions
    from pinnace.serving.config.settings import Settings
    from pinnace.serving.models.loaded_model import LoadedModel
    from pinnace.serving.models.sources import VersionLocation
    from pinnace.serving.observing.load_metrics import LoadMetrics

Loader: TypeAlias = "Callable[[Path], LoadedModel]"


class VersionLoader:
    """Loads versions according to the settings.

    Args:
        settings: the server's settings.
        loader: loads the model in a folder.
    """

    def __init__(self, settings: Settings, loader: Loader) -> None:
        self._settings = settings
        self._loader = loader
        self._limits = RunLimits(settings.max_run_s, settings.max_run_bytes)

    def load(
        self,
        name: str,
        version: int,
        place: VersionLocation,
        where: str,
        *,
        stop: Stop,
        metrics: LoadMetrics,
        is_urgent: bool,
    ) -> Servable:
        """Return the version at a location, ready to answer.

        Args:
            name: the model's name.
            version: the version's number.
            place: the version's location.
            where: the location for messages and metrics.
            stop: a handle with which another thread may end the load.
            metrics: counts the load.
            is_urgent: whether nothing is served before.

        Raises:
            DeadlineExceededError: it took too long.
            Exception: any error of the model.
        """
        settings = self._settings
        begin = time.perf_counter()
        count = metrics.count_load
        try:
            with place.fetched() as path:
                servable = done_within(
                    partial(self._make_servable, name, version, path),
                    settings.max_load_s,
                    f"{where} was not loaded",
                    stop,
                )
                now = time.perf_counter()
                count(where, now - begin, is_good=True)
                begin, count = now, metrics.count_warmup
                done_within(
                    partial(
                        warm_up,
                        servable,
                        path,
                        settings.warmup_iterations,
                        self._limits,
                        is_urgent=is_urgent,
                    ),
                    settings.max_load_s,
                    f"{where} did not run for the first time",
                    stop,
                )
        except Exception:
            count(where, time.perf_counter() - begin, is_good=False)
            raise
        if settings.warmup_iterations > 0:
            count(where, time.perf_counter() - begin, is_good=True)
        return servable

    def _make_servable(self, name: str, version: int, path: Path) -> Servable:
        loaded = self._load(name, path)
        servable = Servable(
            name,
            version,
            loaded,
            threads=self._settings.run_threads,
            inline_s=self._settings.inline_run_s,
            max_waiting=self._settings.max_waiting_runs,
            batching=self._batching(path),
            checks_batches=self._settings.checks_batches,
            guard=self._limits.guard,
            sequences=self._settings.sequences,
        )
        if loaded.forget is not None:
            weakref.finalize(servable, loaded.forget).atexit = False
        return servable

    def _load(self, name: str, path: Path) -> LoadedModel:
        with self._limits.while_loading():
            model = self._loader(path)
        if model.missing:
            reasons = "; ".join(f"signature '{key}': {why}" for key, why in model.missing.items())
            kept = {k: v for k, v in model.signatures.items() if k not in model.missing}
            if not self._settings.partial_models or not kept:
                raise UnimplementedError(
                    f"{reasons}\n  Try: pinnace serve --partial_models, which serves what can run"
                )
            LOG.warning("model '%s': not served: %s", name, " ".join(reasons.split()))
            model = replace(model, signatures=kept)
        engines = self._settings.engines
        if engines.get(name, engines.get("", "pinnace")) == "pinnace" or not model.definitions:
            return model
        from pinnace.serving.models.engines import through_onnx  # late: exporting is an extra

        return through_onnx(name, model, path)

    def _batching(self, path: Path) -> BatchOptions | None:
        """The batching of requests for the version in this folder."""
        own = path / PER_MODEL_FILE
        if self._settings.batching_per_model and own.is_file():
            return read_batching_parameters(own)
        return self._settings.batching
