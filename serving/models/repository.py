"""The models of a server: polling, loading, replacing and unloading versions.

Models are loaded by tasks of a `LoadQueue`, without a lock; changes are made briefly under one.
Requests only read: a model's state is one frozen `Table`, replaced by one assignment, so that a
lookup takes no lock and never sees a partial change. A replaced version lives until the last
request that uses it is answered.
"""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pinnace.framework.errors import (
    AbortedError,
    DeadlineExceededError,
    FailedPreconditionError,
    NotFoundError,
    OpError,
)
from pinnace.serving.config.model_config import ModelConfig, check_models, read_model_config
from pinnace.serving.errors import LOG, UnservedError, one_line
from pinnace.serving.models.availability import check_available, is_answering, look_at
from pinnace.serving.models.load_queue import LoadQueue
from pinnace.serving.models.loading import load_model
from pinnace.serving.models.model_state import ServedModel
from pinnace.serving.models.polling import Timer
from pinnace.serving.models.sources import find_places, is_remote
from pinnace.serving.models.tables import Table
from pinnace.serving.models.tables import Which as Which
from pinnace.serving.models.version_updater import VersionUpdater, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet
    from concurrent.futures import Future

    from pinnace.serving.config.settings import Settings
    from pinnace.serving.models.servable import Servable
    from pinnace.serving.models.version_loader import Loader
    from pinnace.serving.models.versions import VersionStatus
    from pinnace.serving.observing.load_metrics import LoadMetrics

# Shares of the longest load time: after the first, other models are loaded in parallel; after the
# second, the server starts without the model.
_SLOW = 1 / 30
_TOO_SLOW_FOR_START = 1 / 5
_LOOK_S = 0.1  # between two checks of the models for which the start waits


class Repository:
    """The models of a server.

    Args:
        settings: the models, and the interval of checks for changes.
        loader: loads the model in a folder.

    Attributes:
        unopened_ports: ports, such as gRPC's, that are not open yet.
        is_leaving: whether the server is shutting down: it answers, but is not ready.
    """

    def __init__(self, settings: Settings, loader: Loader = load_model) -> None:
        self.unopened_ports = 0
        self.is_leaving = False
        self._settings = settings
        self._queue = LoadQueue(settings.max_load_s * _SLOW)
        self._models: dict[str, ServedModel] = {}
        self._splits = {split.model: split for split in settings.version_weights}
        self._shadows = {(shadow.model, shadow.version) for shadow in settings.shadows}
        self._replacing = threading.RLock()  # held while a list of models is loaded
        self._writing = threading.RLock()  # held briefly
        self._updater = VersionUpdater(settings, loader, self._queue, self._writing)
        self._staged_names: AbstractSet[str] = frozenset()
        self._was_staged = threading.Condition(self._writing)
        self._timers: list[Timer] = []
        self._started = False
        self._config_text: bytes | None = None
        self._refused_config: tuple[bytes, list[object]] | None = None

    @property
    def loads(self) -> LoadMetrics:
        """Counts loaded and warmed versions."""
        return self._updater.loads

    @loads.setter
    def loads(self, metrics: LoadMetrics) -> None:
        self._updater.loads = metrics

    def start(self) -> None:
        """Load every model, then check for changes in a thread. A second call has no effect.

        A model that loads very slowly is loaded while the others answer already.

        Raises:
            OpError: a model has no version that can be loaded; then all are unloaded.
        """
        with self._replacing:
            if self._started:
                return
            self._config_text = self._read_config_text()
            try:
                self._replace(self._settings.read_models())
                self._check_all_answer()
            except BaseException:
                self._unload_all()
                raise
            self._started = True
            self._updater.is_starting = False
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
        """Stop checking for changes and unload every model."""
        self._queue.close()
        for timer in self._timers:
            timer.stop()
        self._unload_all()

    def replace_models(self, models: Iterable[ModelConfig]) -> None:
        """Serve exactly these models, without interrupting those that stay.

        If this fails, nothing changes: new models are loaded and checked while the old ones serve.

        Args:
            models: all models.

        Raises:
            InvalidArgumentError: the models have the same name, or invalid names.
            UnknownError: a model has no version that answers; the message lists them and the
                reasons.
            FailedPreconditionError: a label names a version that is not loaded.
        """
        _finish(self._replace(models))

    def _replace(self, models: Iterable[ModelConfig]) -> list[Future[None]]:
        """`replace_models`, but new versions of unchanged models are loaded later."""
        with self._replacing, ExitStack() as staging:
            configs = check_models(models)
            before = self._models
            served: dict[str, ServedModel] = {}
            kept: list[ServedModel] = []
            for config in configs:
                old = before.get(config.name)
                if old is not None and old.config == config and is_answering(old):
                    served[config.name] = old
                    kept.append(old)
                else:
                    aside = frozenset(v for name, v in self._shadows if name == config.name)
                    served[config.name] = ServedModel(config, aside)
            staged = {n: model for n, model in served.items() if model is not before.get(n)}
            staging.enter_context(self._staging(staged.keys()))
            try:
                late = self._load_staged(staged)
                with self._writing:
                    if self._started:
                        check_available(served.values())
                    for model in served.values():
                        self._set_labels(model, is_late=model in late)
                    self._models = served
            except BaseException:
                self._close_others(staged, before)
                raise
            self._close_others(before, served)
            return self._refreshed(kept)

    @contextmanager
    def _staging(self, names: AbstractSet[str]) -> Iterator[None]:
        """A context in which models with these names are loaded in addition to the served ones."""
        with self._writing:
            self._staged_names = names
        try:
            yield
        finally:
            with self._was_staged:
                self._staged_names = frozenset()
                self._was_staged.notify_all()

    def _load_staged(self, models: Mapping[str, ServedModel]) -> list[ServedModel]:
        """Load models besides the served ones, without waiting for those that may be slow."""
        loads: dict[Future[None], ServedModel] = {}
        for name, model in models.items():
            self._queue.end(name, AbortedError(f"the configuration of model '{name}' changed"))
            loads[self._queue.add(name, partial(self._stage, model))] = model
        waiting = set(loads)
        too_slow_s = self._settings.max_load_s * _TOO_SLOW_FOR_START
        while waiting:
            waiting = wait(waiting, _LOOK_S, FIRST_COMPLETED).not_done
            late = [loads[one] for one in waiting]
            if (
                not self._started
                and late
                and all(self._queue.is_loading_for(m.config.name, too_slow_s) for m in late)
                and any(model.table.newest is not None for model in models.values())
            ):
                for model in late:
                    name = model.config.name
                    LOG.warning("model '%s' is still being loaded; the others answer", name)
                return late
        _finish(loads)
        return []

    def _close_others(
        self, models: Mapping[str, ServedModel], kept: Mapping[str, ServedModel]
    ) -> None:
        """Drop models, and close the versions that others do not share."""
        with self._writing:
            for name, model in models.items():
                other = kept.get(name)
                if other is model:
                    continue
                self._retire(model)
                others = {} if other is None else other.table.servables
                for version, servable in model.table.servables.items():
                    if others.get(version) is not servable:
                        self._updater.close(servable)
            self._updater.collect()

    def _retire(self, model: ServedModel) -> None:
        """Cancel the version that a model is loading."""
        model.is_retired = True
        name = model.config.name
        self._queue.end(name, AbortedError(f"model '{name}' is served no longer"))

    def refresh(self) -> None:
        """Check once for new, changed and removed versions."""
        with self._replacing:
            refreshed = self._refreshed(self._models.values())
        _finish(refreshed)

    def _refreshed(self, models: Iterable[ServedModel]) -> list[Future[None]]:
        return [
            self._queue.add(model.config.name, partial(self._refresh_model, model))
            for model in models
        ]

    def _look_at_folders(self) -> None:
        for model in list(self._models.values()):
            if not is_remote(model.config.base_path):
                self._look_at(model)
        self._updater.collect()

    def _look_at(self, model: ServedModel) -> None:
        """Check for versions of a model by a queued task, unless it has one already."""
        name = model.config.name

        def look() -> None:
            try:
                self._refresh_model(model)
            except Exception:  # the future is not read
                LOG.exception("model '%s': looking for changes failed; trying again", name)

        if not self._queue.is_pending(name):
            self._queue.add(name, look)

    def _look_at_urls(self) -> None:
        """`refresh` for models at URLs, whose polls and downloads must not delay other models."""
        for model in list(self._models.values()):
            if not is_remote(model.config.base_path) or not model.is_wanted:
                continue
            try:
                found = find_places(model.config.base_path)
                wanted = self._updater.wanted_of(model, found.keys())
                for version in wanted - model.table.servables.keys():
                    if version not in model.failures:
                        with found[version].fetched():
                            pass
            except OpError:
                pass  # logged below, where it occurs again
            self._look_at(model)

    def reload(self) -> None:
        """Reread the configuration file, and check for versions, including those that failed."""
        with self._replacing:
            self._refused_config = None
            self._reread_config()
            with self._writing:
                for model in self._models.values():
                    model.failures.clear()
        self.refresh()

    def load(self, name: str) -> None:
        """Serve an unloaded model again, and check for its new versions.

        Raises:
            NotFoundError: no model of this name is configured.
            OpError: none of its versions can be loaded.
        """
        with self._writing:
            model = self._configured(name)
            model.is_wanted = True
            loaded = self._queue.add(name, partial(self._load_again, model))
        loaded.result()

    def unload(self, name: str) -> None:
        """Stop serving a model until `load`; pending requests are answered.

        Raises:
            NotFoundError: no model of this name is configured.
        """
        with self._writing:
            model = self._configured(name)
            model.is_wanted = False
            self._queue.end(name, AbortedError(f"model '{name}' was unloaded"))
            for version in list(model.table.servables):
                self._updater.unload(model, version)
            self._updater.collect()

    def all_statuses(self, name: str) -> list[VersionStatus]:
        """The status of a model's versions, newest first; empty if there is none."""
        model = self._models.get(name)
        statuses = {} if model is None else model.table.statuses
        return sorted(statuses.values(), key=lambda s: s.version, reverse=True)

    def parts(self, name: str) -> dict[int, float]:
        """Version -> its fraction, from 0 to 1, of requests without a version."""
        split, model = self._splits.get(name), self._models.get(name)
        return {} if split is None or model is None else parts_of(split, model.table)

    def labels(self, name: str) -> Mapping[str, int]:
        """The labels of a model's versions; empty if there is none."""
        model = self._models.get(name)
        return {} if model is None else model.table.labels

    def get(self, which: Which) -> Servable:
        """Return the requested version.

        Raises:
            NotFoundError: the version is not loaded.
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
        """Return the version for a request, chosen by weight if the request names none.

        Args:
            which: the requested version.
            headers: names in lower case; a request ID or API key selects the same version each
                time.

        Raises:
            NotFoundError: the version is not loaded.
            InvalidArgumentError: the model has no such label.
            FailedPreconditionError: the version is a shadow.
        """
        if which.version is None and which.label is None:
            if not self._splits and not self._shadows:  # the usual case
                model = self._models.get(which.name)
                newest = None if model is None else model.table.newest
                if newest is not None:
                    return newest
            split = self._splits.get(which.name)
            model = self._models.get(which.name)
            if split is not None and model is not None:
                found = split.choose(model.table.target, headers)
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
        """Return the status of the requested versions, newest first.

        Raises:
            NotFoundError: the model or version does not exist.
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
        """The newest version of each model that has one, sorted by model name."""
        tables = [self._models[name].table for name in self.names()]
        return [table.newest for table in tables if table.newest is not None]

    def servables(self) -> list[Servable]:
        """Every loaded version of every model."""
        tables = [model.table for model in self._models.values()]
        return [servable for table in tables for servable in table.servables.values()]

    def is_ready(self) -> bool:
        """Whether the start is complete, all ports are open, and every model is ready."""
        return (
            not self.unopened_ports
            and not self.is_leaving
            and self._started
            and all(
                model.table.newest is not None for model in self._models.values() if model.is_wanted
            )
        )

    def is_ready_for(self, name: str) -> bool:
        """Whether a model is ready, and the server is not shutting down."""
        model = self._models.get(name)
        return not self.is_leaving and model is not None and model.table.newest is not None

    def _configured(self, name: str) -> ServedModel:
        """The model with this name, once it is not being replaced. The lock must be held."""
        self._was_staged.wait_for(lambda: name not in self._staged_names)
        model = self._models.get(name)
        if model is None:
            raise NotFoundError(f"No model '{name}' is configured")
        return model

    def _reread_config(self) -> None:
        text = self._read_config_text()
        # A file that is being overwritten in place is empty for a moment.
        if text is None or not text.strip() or text == self._config_text:
            return
        models: tuple[ModelConfig, ...] = ()
        try:
            configured = read_model_config(self._settings.model_config_file)
            models = (*self._settings.models, *configured)
            attempt = text, look_at(models)
            if attempt == self._refused_config:
                return  # retried when there is something else to load
            self._refused_config = attempt
            self._replace(models)
            self._config_text, self._refused_config = text, None
        except OpError as error:
            if not models:
                self._config_text = text  # the same text would fail again
            LOG.error("%s; the models stay as they are", one_line(error))

    def _check_all_answer(self) -> None:
        for model in self._models.values():
            if model.table.newest is None and not self._may_start_without(model):
                raise model.why_silent()

    def _may_start_without(self, model: ServedModel) -> bool:
        """Whether the server may start without a model that did not load in time, and may never."""
        name = model.config.name
        is_late = self._queue.is_pending(name) or model.table.newest is not None
        return (is_late or isinstance(model.why_silent(), DeadlineExceededError)) and any(
            other.table.newest is not None for other in self._models.values()
        )

    def _read_config_text(self) -> bytes | None:
        path = self._settings.model_config_file
        try:
            return Path(path).read_bytes() if path else None
        except OSError:
            return None

    def _stage(self, model: ServedModel) -> None:
        """Load the new versions of a model, in addition to the served ones."""
        old = self._models.get(model.config.name)
        if old is not None and old.config.base_path == model.config.base_path:
            model.table = old.table
            model.is_wanted = old.is_wanted
        gone = set(self._updater.load_wanted(model))
        with self._writing:
            kept = {v: s for v, s in model.table.servables.items() if v not in gone}
            model.table = model.table.with_servables(kept)
            for version in gone:
                model.note_end(version)

    def _load_again(self, model: ServedModel) -> None:
        with self._writing:
            model.failures.clear()
        self._refresh_model(model)
        if model.table.newest is None:
            raise model.why_silent()

    def _refresh_model(self, model: ServedModel) -> None:
        """Update the loaded versions to those in the folder and the configuration."""
        if model.is_retired or model.config.name in self._staged_names:
            return
        gone = self._updater.load_wanted(model)
        with self._writing:
            for version in gone:
                if self._updater.unload(model, version):
                    LOG.info("model '%s' version %d was unloaded", model.config.name, version)
        self._updater.collect()

    def _unload_all(self) -> None:
        with self._writing:
            for model in self._models.values():
                self._retire(model)
                for version in list(model.table.servables):
                    self._updater.unload(model, version)

    def _set_labels(self, model: ServedModel, *, is_late: bool) -> None:
        labels = dict(model.config.labels)
        if not is_late and not self._settings.allow_labels_for_unavailable_versions:
            for label, version in labels.items():
                if version not in model.table.servables:
                    raise FailedPreconditionError(
                        f"Model '{model.config.name}': label '{label}' names version {version}, "
                        "which is not available"
                    )
        if labels != dict(model.table.labels):
            named = ", ".join(f"{label}: {version}" for label, version in sorted(labels.items()))
            LOG.info("model '%s' has the labels {%s}", model.config.name, named)
        before, model.table = model.table, replace(model.table, labels=labels)
        self._updater.tell_parts(model, before)


def _finish(tasks: Iterable[Future[None]]) -> None:
    """Wait for all tasks, then raise the first error."""
    wait(tasks := list(tasks))
    for task in tasks:
        task.result()
