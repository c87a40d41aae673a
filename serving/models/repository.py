"""Folders of models → versions that answer: scanning, loading beside the old, swapping, unloading.

One thread writes at a time: the first caller of `start`, then those that look for changes.
Requests only read: a model's state is one frozen `Table`, replaced by one assignment, so that a
look-up takes no lock and never sees half a change. A version that was replaced lives until the last
request that holds it is answered.
"""

from __future__ import annotations

import gc
import logging
import threading
import time
import weakref
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pinnace.framework.errors import (
    DeadlineExceededError,
    FailedPreconditionError,
    NotFoundError,
    OpError,
    UnimplementedError,
)
from pinnace.serving.config.batching_config import PER_MODEL_FILE, read_batching_parameters
from pinnace.serving.config.model_config import Latest, ModelConfig, check_models, read_model_config
from pinnace.serving.config.urls import public_url
from pinnace.serving.errors import UnservedError, one_line
from pinnace.serving.models.availability import check_available, look_at
from pinnace.serving.models.loaded_model import LoadedModel
from pinnace.serving.models.loading import load_model
from pinnace.serving.models.model_state import ServedModel
from pinnace.serving.models.patience import done_within
from pinnace.serving.models.polling import Timer
from pinnace.serving.models.servable import Servable
from pinnace.serving.models.sources import find_places, is_remote
from pinnace.serving.models.tables import Table
from pinnace.serving.models.tables import Which as Which
from pinnace.serving.models.versions import State, VersionStatus
from pinnace.serving.models.warmup import warm_up
from pinnace.serving.observing.load_metrics import LoadMetrics
from pinnace.serving.running.limits import RunLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from pinnace.serving.config.batching_config import BatchOptions
    from pinnace.serving.config.settings import Settings
    from pinnace.serving.models.sources import Place

Loader: TypeAlias = "Callable[[Path], LoadedModel]"

LOG = logging.getLogger("pinnace.serving")

_COLLECT_EVERY = 200  # times as long as it takes


class Repository:
    """The models of a server.

    Args:
        settings: which models, and how often to look for changes.
        loader: gives the model in a folder.

    Attributes:
        unopened_ports: ways in, as gRPC's port, that are to open and are not open yet.
        is_leaving: whether the server is to end: it answers, and is not ready.
        loads: counts what is loaded and warmed.
    """

    def __init__(self, settings: Settings, loader: Loader = load_model) -> None:
        self.unopened_ports = 0
        self.is_leaving = False
        self.loads = LoadMetrics()
        self._settings = settings
        self._loader = loader
        self._limits = RunLimits(settings.max_run_s, settings.max_run_bytes)
        self._models: dict[str, ServedModel] = {}
        self._splits = {split.model: split for split in settings.version_weights}
        self._shadows = {(shadow.model, shadow.version) for shadow in settings.shadows}
        self._writing = threading.RLock()
        self._timers: list[Timer] = []
        self._has_garbage = False
        self._collect_at = 0.0
        self._started = False
        self._config_text: bytes | None = None
        self._refused_config: tuple[bytes, list[object]] | None = None

    def start(self) -> None:
        """Load every model, then look for changes in a thread. Does nothing the second time.

        Raises:
            OpError: a model has no version that can be loaded; nothing stays loaded then.
        """
        with self._writing:
            if self._started:
                return
            self._config_text = self._read_config_text()
            try:
                self.replace_models(self._settings.read_models())
                self._check_all_answer()
            except BaseException:
                self._unload_all()
                raise
            self._started = True
            for model in self._models.values():
                for version in model.failures:
                    model.log_failure(version)
        settings = self._settings
        self._timers = [
            Timer("models", settings.file_system_poll_s, self._look_at_folders),
            Timer("models.config", settings.model_config_file_poll_s, self._reread_config),
            Timer("remote-models", settings.remote_poll_s, self._look_at_urls),
        ]

    def close(self) -> None:
        """Stop looking for changes and unload every model."""
        for timer in self._timers:
            timer.stop()
        with self._writing:
            self._unload_all()

    def replace_models(self, models: Iterable[ModelConfig]) -> None:
        """Serve these models and no others. Those that stay are not disturbed.

        Either all of it is done or nothing: what is new is loaded and checked beside what answers.

        Args:
            models: all of them.

        Raises:
            InvalidArgumentError: requests could not tell them apart.
            UnknownError: one of them has no version that answers; the message has each, and why.
            FailedPreconditionError: a label names a version that is not loaded.
        """
        with self._writing:
            before = self._models
            served: dict[str, ServedModel] = {}
            try:
                for config in check_models(models):
                    served[config.name] = self._staged(config)
                if self._started:
                    check_available(served.values())
                for model in served.values():
                    self._set_labels(model)
            except BaseException:
                self._close_others(served, before)
                raise
            self._models = served
            self._close_others(before, served)
            self._collect()

    def _close_others(
        self, models: Mapping[str, ServedModel], kept: Mapping[str, ServedModel]
    ) -> None:
        """Close the versions of models that the others do not have."""
        for name, model in models.items():
            other = kept.get(name)
            others = {} if other is None else other.table.servables
            for version, servable in model.table.servables.items():
                if others.get(version) is not servable:
                    servable.close()
                    self._has_garbage = True

    def refresh(self) -> None:
        """Look once for new, changed and removed versions."""
        with self._writing:
            for model in self._models.values():
                self._refresh_model(model)
            self._collect()

    def _look_at_folders(self) -> None:
        with self._writing:
            for model in self._models.values():
                if not is_remote(model.config.base_path):
                    self._refresh_model(model)
            self._collect()

    def _look_at_urls(self) -> None:
        """As `refresh`, for models at URLs, whose polls and downloads hold up no other model."""
        for model in list(self._models.values()):
            if not is_remote(model.config.base_path) or not model.is_wanted:
                continue
            try:
                found = find_places(model.config.base_path)
                for version in self._wanted(model, found.keys()) - model.table.servables.keys():
                    if version not in model.failures:
                        with found[version].fetched():
                            pass
            except OpError:
                pass  # said below, where it is met again
            with self._writing:
                if self._models.get(model.config.name) is model:
                    self._refresh_model(model)
                self._collect()

    def reload(self) -> None:
        """Read the configuration file again, and look for versions, those that failed included."""
        with self._writing:
            self._refused_config = None
            self._reread_config()
            for model in self._models.values():
                model.failures.clear()
            self.refresh()

    def load(self, name: str) -> None:
        """Serve a model again that was unloaded, and look for its new versions.

        Raises:
            NotFoundError: no model of this name is configured.
            OpError: none of its versions can be loaded.
        """
        with self._writing:
            model = self._configured(name)
            model.is_wanted = True
            model.failures.clear()
            self._refresh_model(model)
            if model.table.newest is None:
                raise model.why_silent()

    def unload(self, name: str) -> None:
        """Stop serving a model until `load`; requests on their way are answered.

        Raises:
            NotFoundError: no model of this name is configured.
        """
        with self._writing:
            model = self._configured(name)
            model.is_wanted = False
            for version in list(model.table.servables):
                self._unload(model, version)
            self._collect()

    def all_statuses(self, name: str) -> list[VersionStatus]:
        """Where the versions of a model stand, newest first; empty if there is none."""
        model = self._models.get(name)
        statuses = {} if model is None else model.table.statuses
        return sorted(statuses.values(), key=lambda s: s.version, reverse=True)

    def labels(self, name: str) -> Mapping[str, int]:
        """The labels of a model's versions; empty if there is none."""
        model = self._models.get(name)
        return {} if model is None else model.table.labels

    def get(self, which: Which) -> Servable:
        """The version that a request asks for.

        Raises:
            NotFoundError: it is not loaded.
            InvalidArgumentError: the model has no such label.
        """
        model = self._models.get(which.name)
        table = Table() if model is None else model.table
        version = which.version
        if model is not None and which.label is not None:
            version = table.version_of(which.label)
        servable = table.newest if version is None else table.servables.get(version)
        if servable is None:
            raise UnservedError(which.name, version)
        return servable

    def route(self, which: Which, headers: Mapping[bytes, bytes]) -> Servable:
        """The version that answers a request: of those with weights, if it asks for none.

        Args:
            which: what it asks for.
            headers: names in lower case; a request ID or API key keeps its version.

        Raises:
            NotFoundError: it is not loaded.
            InvalidArgumentError: the model has no such label.
            FailedPreconditionError: it is a shadow.
        """
        if which.version is None and which.label is None:
            if not self._splits and not self._shadows:  # most requests of most servers
                model = self._models.get(which.name)
                newest = None if model is None else model.table.newest
                if newest is not None:
                    return newest
            split = self._splits.get(which.name)
            model = self._models.get(which.name)
            if split is not None and model is not None:
                table = model.table

                def find(target: str) -> Servable | None:
                    version = int(target) if target.isdigit() else table.labels.get(target, -1)
                    return None if version in table.aside else table.servables.get(version)

                found = split.choose(find, headers)
                if found is not None:
                    return found
        servable = self.get(which)
        if self._shadows and (servable.name, servable.version) in self._shadows:
            raise FailedPreconditionError(
                f"Version {servable.version} of model '{servable.name}' is a shadow: it gets "
                "copies of requests and never answers\n  Try: ask for the model without a version"
            )
        return servable

    def status(self, which: Which) -> list[VersionStatus]:
        """Where the versions stand that a request asks for, newest first.

        Raises:
            NotFoundError: there are none.
            InvalidArgumentError: the model has no such label.
        """
        model = self._models.get(which.name)
        table = Table() if model is None else model.table
        version = which.version
        if model is not None and which.label is not None:
            version = table.version_of(which.label)
        if version is None:
            statuses = sorted(table.statuses.values(), key=lambda s: s.version, reverse=True)
        else:
            statuses = [s for s in table.statuses.values() if s.version == version]
        if not statuses:
            what = "any versions" if version is None else f"version {version}"
            raise NotFoundError(f"Could not find {what} of model {which.name}")
        return statuses

    def names(self) -> list[str]:
        """The names of the models, in order."""
        return sorted(self._models)

    def __contains__(self, name: object) -> bool:
        """Whether a model of this name is served."""
        return name in self._models

    def newest(self) -> list[Servable]:
        """The newest version of each model that has one, by name."""
        tables = [self._models[name].table for name in self.names()]
        return [table.newest for table in tables if table.newest is not None]

    def servables(self) -> list[Servable]:
        """Every version of every model that is loaded."""
        tables = [model.table for model in self._models.values()]
        return [servable for table in tables for servable in table.servables.values()]

    def is_ready(self) -> bool:
        """Whether the start is over, every way in is open, and every model has an answer."""
        return (
            not self.unopened_ports
            and not self.is_leaving
            and self._started
            and all(
                model.table.newest is not None for model in self._models.values() if model.is_wanted
            )
        )

    def is_ready_for(self, name: str) -> bool:
        """Whether a model has an answer, and the server is not to end."""
        model = self._models.get(name)
        return not self.is_leaving and model is not None and model.table.newest is not None

    def _configured(self, name: str) -> ServedModel:
        model = self._models.get(name)
        if model is None:
            raise NotFoundError(f"No model '{name}' is configured")
        return model

    def _reread_config(self) -> None:
        text = self._read_config_text()
        # Somebody who writes it in place has it empty for a moment.
        if text is None or not text.strip() or text == self._config_text:
            return
        models: tuple[ModelConfig, ...] = ()
        try:
            configured = read_model_config(self._settings.model_config_file)
            models = (*self._settings.models, *configured)
            attempt = text, look_at(models)
            if attempt == self._refused_config:
                return  # it is tried again when there is something else to load
            self._refused_config = attempt
            self.replace_models(models)
            self._config_text, self._refused_config = text, None
        except OpError as error:
            if not models:
                self._config_text = text  # only another text can be better
            LOG.error("%s; the models stay as they are", one_line(error))  # noqa: TRY400 - foreseen

    def _check_all_answer(self) -> None:
        for model in self._models.values():
            if model.table.newest is None and not self._may_start_without(model):
                raise model.why_silent()

    def _may_start_without(self, model: ServedModel) -> bool:
        """Whether a model that did not load in time, and may never, leaves the others alone."""
        return isinstance(model.why_silent(), DeadlineExceededError) and any(
            other.table.newest is not None for other in self._models.values()
        )

    def _read_config_text(self) -> bytes | None:
        path = self._settings.model_config_file
        try:
            return Path(path).read_bytes() if path else None
        except OSError:
            return None

    def _staged(self, config: ModelConfig) -> ServedModel:
        """The model of this configuration, loaded, beside the one that is served."""
        old = self._models.get(config.name)
        aside = frozenset(version for name, version in self._shadows if name == config.name)
        model = ServedModel(config, aside)
        if old is not None and old.config.base_path == config.base_path:
            model.table = old.table
            model.is_wanted = old.is_wanted
        for version in self._load_wanted(model):
            servables = {v: s for v, s in model.table.servables.items() if v != version}
            table = model.table.with_servables(servables)
            model.table = table.with_status(VersionStatus(version, State.END))
        return model

    def _refresh_model(self, model: ServedModel) -> None:
        """Make what is loaded agree with what is on the disk and what is asked for."""
        for version in self._load_wanted(model):
            self._unload(model, version)
            LOG.info("model '%s' version %d was unloaded", model.config.name, version)

    def _load_wanted(self, model: ServedModel) -> list[int]:
        """Load the versions that are asked for and there; the loaded ones that are to go."""
        if not model.is_wanted:
            return []
        try:
            found = find_places(model.config.base_path)
        except OpError as error:
            if model.problem is None and model.table.newest is not None:
                LOG.warning("model '%s': %s; what is loaded stays", model.config.name, error)
            model.problem = error
            return []
        model.problem = None
        model.forget_failures(found.keys())
        aside = model.table.aside
        wanted = self._wanted(model, found.keys())
        for version in sorted(wanted, reverse=True):
            self._try_load(model, version, found[version])
        if isinstance(model.config.policy, Latest) and model.table.newest is None:
            # TensorFlow: serves nothing then. A restart must not lose what stayed without it.
            for version in sorted(found.keys() - wanted, reverse=True):
                if self._try_load(model, version, found[version]):
                    break
        # What is no longer wanted goes once something wanted answers.
        answering = wanted - aside
        if answering and not answering & model.table.servables.keys():
            return []
        return sorted(model.table.servables.keys() - wanted)

    def _wanted(self, model: ServedModel, found: AbstractSet[int]) -> set[int]:
        """The versions to serve of those found."""
        split = self._splits.get(model.config.name)
        named = split.versions() if split is not None else frozenset()
        # A shadow is beside what the policy chooses: the newest is often the one to try.
        aside = model.table.aside
        return model.config.policy.choose(found - aside) | (found & (aside | named))

    def _try_load(self, model: ServedModel, version: int, place: Place) -> bool:
        """Whether the version answers, now or already."""
        if version in model.table.servables:
            return True
        settings = self._settings
        fingerprint = place.fingerprint()
        if not model.may_try(
            version, fingerprint, settings.max_load_retries, settings.load_retry_s
        ):
            return False
        name = model.config.name
        model.table = model.table.with_status(VersionStatus(version, State.LOADING))
        where = f"{public_url(model.config.base_path).rstrip('/')}/{version}"
        begin = time.perf_counter()
        count = self.loads.count_load
        try:
            with place.fetched() as path:
                within = f"{where} was not loaded"
                servable = done_within(
                    partial(self._make_servable, name, version, path), settings.max_load_s, within
                )
                now = time.perf_counter()
                count(where, now - begin, is_good=True)
                begin, count = now, self.loads.count_warmup
                done_within(
                    partial(
                        warm_up,
                        servable,
                        path,
                        settings.warmup_iterations,
                        self._limits,
                        is_urgent=not self._started,
                    ),
                    settings.max_load_s,
                    f"{where} did not run for the first time",
                )
            if settings.warmup_iterations > 0:
                count(where, time.perf_counter() - begin, is_good=True)
        except Exception as error:  # whatever a model does, the server and the old version go on
            count(where, time.perf_counter() - begin, is_good=False)
            model.note_failure(version, fingerprint, error)
            if self._started:  # else `start` says it, or raises
                model.log_failure(version)
            return False
        model.failures.pop(version, None)
        status = VersionStatus(version, State.AVAILABLE)
        table = model.table.with_status(status)
        model.table = table.with_servables({**table.servables, version: servable})
        LOG.info("model '%s' version %d is available", name, version)
        return True

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
        """How requests for the version in this folder are joined."""
        own = path / PER_MODEL_FILE
        if self._settings.batching_per_model and own.is_file():
            return read_batching_parameters(own)
        return self._settings.batching

    def _unload(self, model: ServedModel, version: int) -> None:
        servables = dict(model.table.servables)
        servable = servables.pop(version)
        table = model.table.with_status(VersionStatus(version, State.UNLOADING))
        model.table = table.with_servables(servables)
        servable.close()
        self._has_garbage = True
        model.table = model.table.with_status(VersionStatus(version, State.END))

    def _collect(self) -> None:
        """Give back the memory of versions that were unloaded, as far as it waits for Python.

        Weights go with the last request. Graphs and their constants are full of cycles, and Python
        looks for these when enough small objects were made, not when much memory is held. While it
        looks nothing else runs, so that it may do so for a small part of the time only.
        """
        if not self._has_garbage or time.monotonic() < self._collect_at:
            return
        self._has_garbage = False
        begin = time.thread_time()
        gc.collect()
        self._collect_at = time.monotonic() + _COLLECT_EVERY * (time.thread_time() - begin)

    def _unload_all(self) -> None:
        for model in self._models.values():
            for version in list(model.table.servables):
                self._unload(model, version)

    def _set_labels(self, model: ServedModel) -> None:
        labels = dict(model.config.labels)
        if not self._settings.allow_labels_for_unavailable_versions:
            for label, version in labels.items():
                if version not in model.table.servables:
                    raise FailedPreconditionError(
                        f"Model '{model.config.name}': label '{label}' names version {version}, "
                        "which is not available"
                    )
        if labels != dict(model.table.labels):
            named = ", ".join(f"{label}: {version}" for label, version in sorted(labels.items()))
            LOG.info("model '%s' has the labels {%s}", model.config.name, named)
        model.table = replace(model.table, labels=labels)
