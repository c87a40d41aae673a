"""Folders of models → versions that answer: scanning, loading beside the old, swapping, unloading.

One thread writes: the first caller of `start`, then the polling thread. Requests only read: a
model's state is one frozen `_Table`, replaced by one assignment, so that a look-up takes no lock
and never sees half a change. A version that was replaced lives until the last request that holds it
is answered.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pinnace.framework.errors import (
    INVALID_ARGUMENT,
    OK,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    exception_type_from_error_code,
)
from pinnace.serving.batching_config import PER_MODEL_FILE, read_batching_parameters
from pinnace.serving.errors import canonical_code, one_line
from pinnace.serving.limits import RunLimits
from pinnace.serving.loading import load_model
from pinnace.serving.model_config import Latest, ModelConfig, check_models, read_model_config
from pinnace.serving.servable import LoadedModel, Servable
from pinnace.serving.versions import State, VersionStatus, find_versions, take_fingerprint
from pinnace.serving.warmup import warm_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pinnace.serving.batching import BatchOptions
    from pinnace.serving.settings import Settings

Loader: TypeAlias = "Callable[[Path], LoadedModel]"

LOG = logging.getLogger("pinnace.serving")

_MAX_ENDED = 100  # versions that ended and are still listed


@dataclass(frozen=True, slots=True)
class Which:
    """The version that a request asks for: the newest one unless a number or a label is given.

    Attributes:
        name: of the model.
        version: its number.
        label: a name of a version.
    """

    name: str
    version: int | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True)
class _Table:
    """What is known of a model's versions at one moment.

    Attributes:
        servables: the versions that are loaded.
        statuses: of all versions.
        labels: other names of versions.
        newest: version that answers.
        aside: versions that never answer: shadows.
    """

    servables: Mapping[int, Servable] = field(default_factory=dict)
    statuses: Mapping[int, VersionStatus] = field(default_factory=dict)
    labels: Mapping[str, int] = field(default_factory=dict)
    newest: Servable | None = None
    aside: frozenset[int] = frozenset()

    def with_status(self, status: VersionStatus) -> _Table:
        statuses = {**self.statuses, status.version: status}
        ended = sorted(v for v, s in statuses.items() if s.state is State.END)
        for version in ended[:-_MAX_ENDED]:
            del statuses[version]
        return replace(self, statuses=statuses)

    def with_servables(self, servables: Mapping[int, Servable]) -> _Table:
        newest = max(servables.keys() - self.aside, default=None)
        return replace(
            self, servables=servables, newest=None if newest is None else servables[newest]
        )


@dataclass(slots=True)
class _Failure:
    """A version that did not load, and when it may be tried again."""

    fingerprint: tuple[object, ...]
    tries: int
    at_s: float


class _Model:
    """A model that is served. Only the writing thread changes it."""

    def __init__(self, config: ModelConfig, aside: frozenset[int]) -> None:
        self.config = config
        self.table = _Table(aside=aside)
        self.failures: dict[int, _Failure] = {}
        self.problem: OpError | None = None
        self.is_wanted = True


class Repository:
    """The models of a server.

    Args:
        settings: which models, and how often to look for changes.
        loader: gives the model in a folder.
    """

    def __init__(self, settings: Settings, loader: Loader = load_model) -> None:
        self._settings = settings
        self._loader = loader
        self._limits = RunLimits(settings.max_run_s, settings.max_run_bytes)
        self._models: dict[str, _Model] = {}
        self._splits = {split.model: split for split in settings.version_weights}
        self._shadows = {(shadow.model, shadow.version) for shadow in settings.shadows}
        self._writing = threading.RLock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._started = False
        self._config_text: bytes | None = None

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
            self._log_failures()
        polls = (self._settings.file_system_poll_s, self._settings.model_config_file_poll_s)
        if any(poll > 0 for poll in polls):
            self._thread = threading.Thread(target=self._poll, name="pinnace-models", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop looking for changes and unload every model."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
        with self._writing:
            self._unload_all()

    def replace_models(self, models: Iterable[ModelConfig]) -> None:
        """Serve these models and no others. Those that stay are not disturbed.

        Args:
            models: all of them.

        Raises:
            FailedPreconditionError: a label names a version that is not loaded; the old labels
                stay.
        """
        with self._writing:
            served: dict[str, _Model] = {}
            for config in check_models(models):
                served[config.name] = self._served(config)
            before, self._models = self._models, served
            for name, model in before.items():
                if served.get(name) is not model:
                    for version in list(model.table.servables):
                        self._unload(model, version)
            for model in served.values():
                self._set_labels(model)

    def refresh(self) -> None:
        """Look once for new, changed and removed versions."""
        with self._writing:
            for model in self._models.values():
                self._refresh_model(model)

    def reload(self) -> None:
        """Read the configuration file again, and look for versions, those that failed included."""
        with self._writing:
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
                raise _no_version(model)

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

    def all_statuses(self, name: str) -> list[VersionStatus]:
        """Where the versions of a model stand, newest first; empty if there is none."""
        model = self._models.get(name)
        statuses = {} if model is None else model.table.statuses
        return sorted(statuses.values(), key=lambda s: s.version, reverse=True)

    def get(self, which: Which) -> Servable:
        """The version that a request asks for.

        Raises:
            NotFoundError: it is not loaded.
            InvalidArgumentError: the model has no such label.
        """
        model = self._models.get(which.name)
        table = _Table() if model is None else model.table
        version = which.version
        if model is not None and which.label is not None:
            version = _version_of_label(table, which.label)
        servable = table.newest if version is None else table.servables.get(version)
        if servable is None:
            asked = (
                f"Latest({which.name})" if version is None else f"Specific({which.name}, {version})"
            )
            raise NotFoundError(f"Servable not found for request: {asked}")
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
        if self._splits and which.version is None and which.label is None:
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
        table = _Table() if model is None else model.table
        version = which.version
        if model is not None and which.label is not None:
            version = _version_of_label(table, which.label)
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

    def is_ready(self) -> bool:
        """Whether the start is over and every model has a version that answers."""
        return self._started and all(
            model.table.newest is not None for model in self._models.values() if model.is_wanted
        )

    def _configured(self, name: str) -> _Model:
        model = self._models.get(name)
        if model is None:
            raise NotFoundError(f"No model '{name}' is configured")
        return model

    def _poll(self) -> None:
        settings = self._settings
        now = time.monotonic()
        next_scan = now + settings.file_system_poll_s
        next_read = now + settings.model_config_file_poll_s
        while True:
            due = [
                t
                for t, poll in (
                    (next_scan, settings.file_system_poll_s),
                    (next_read, settings.model_config_file_poll_s),
                )
                if poll > 0
            ]
            if self._stopped.wait(max(0.0, min(due) - time.monotonic())):
                return
            now = time.monotonic()
            try:
                if settings.model_config_file_poll_s > 0 and now >= next_read:
                    next_read = now + settings.model_config_file_poll_s
                    self._reread_config()
                if settings.file_system_poll_s > 0 and now >= next_scan:
                    next_scan = now + settings.file_system_poll_s
                    self.refresh()
            except Exception:  # the thread must outlive what nobody foresaw
                LOG.exception("looking for changes of models failed; trying again")

    def _reread_config(self) -> None:
        try:
            text = self._read_config_text()
            if text is None or text == self._config_text:
                return
            self._config_text = text
            configured = read_model_config(self._settings.model_config_file)
            self.replace_models((*self._settings.models, *configured))
        except OpError as error:
            LOG.error("%s; the models stay as they are", one_line(error))  # noqa: TRY400 - foreseen

    def _log_failures(self) -> None:
        for model in self._models.values():
            for status in model.table.statuses.values():
                if status.code != OK:
                    _log_failure(model.config.name, status)

    def _check_all_answer(self) -> None:
        for model in self._models.values():
            if model.table.newest is None:
                raise _no_version(model)

    def _read_config_text(self) -> bytes | None:
        path = self._settings.model_config_file
        try:
            return Path(path).read_bytes() if path else None
        except OSError:
            return None

    def _served(self, config: ModelConfig) -> _Model:
        """The model of this configuration, loaded; the one served already if its path stays."""
        old = self._models.get(config.name)
        if old is not None and old.config.base_path == config.base_path:
            old.config = config
            self._refresh_model(old)
            return old
        aside = frozenset(version for name, version in self._shadows if name == config.name)
        new = _Model(config, aside)
        self._refresh_model(new)
        if old is not None and old.table.newest is not None and new.table.newest is None:
            LOG.error("%s; the old one stays", _no_version(new))
            return old
        return new

    def _refresh_model(self, model: _Model) -> None:
        """Make what is loaded agree with what is on the disk and what is asked for."""
        if not model.is_wanted:
            return
        try:
            found = find_versions(model.config.base_path)
        except NotFoundError as error:
            if model.problem is None and model.table.newest is not None:
                LOG.warning("model '%s': %s; what is loaded stays", model.config.name, error)
            model.problem = error
            return
        model.problem = None
        aside = model.table.aside
        split = self._splits.get(model.config.name)
        named = split.versions() if split is not None else frozenset()
        # A shadow is beside what the policy chooses: the newest is often the one to try.
        wanted = model.config.policy.choose(found.keys() - aside)
        wanted |= found.keys() & (aside | named)
        for version in sorted(wanted, reverse=True):
            self._try_load(model, version, found[version])
        if isinstance(model.config.policy, Latest) and model.table.newest is None:
            # TensorFlow: serves nothing then. A restart must not lose what stayed without it.
            for version in sorted(found.keys() - wanted, reverse=True):
                if self._try_load(model, version, found[version]):
                    break
        # What is no longer wanted goes once something wanted answers.
        answering = wanted - aside
        if not answering or answering & model.table.servables.keys():
            for version in sorted(model.table.servables.keys() - wanted):
                self._unload(model, version)
                LOG.info("model '%s' version %d was unloaded", model.config.name, version)

    def _try_load(self, model: _Model, version: int, path: Path) -> bool:
        """Whether the version answers, now or already."""
        if version in model.table.servables:
            return True
        fingerprint = take_fingerprint(path)
        failure = model.failures.get(version)
        if failure is not None and failure.fingerprint == fingerprint:
            waited = time.monotonic() - failure.at_s >= self._settings.load_retry_s
            if failure.tries > self._settings.max_load_retries or not waited:
                return False
        name = model.config.name
        model.table = model.table.with_status(VersionStatus(version, State.LOADING))
        try:
            servable = self._make_servable(name, version, path)
            warm_up(servable, path, self._settings.warmup_iterations)
        except Exception as error:  # whatever a model does, the server and the old version go on
            tries = 1
            if failure is not None and failure.fingerprint == fingerprint:
                tries += failure.tries
            model.failures[version] = _Failure(fingerprint, tries, time.monotonic())
            status = VersionStatus(version, State.END, canonical_code(error), one_line(error))
            model.table = model.table.with_status(status)
            if self._started:  # else `start` says it, or raises
                _log_failure(name, status)
            return False
        model.failures.pop(version, None)
        status = VersionStatus(version, State.AVAILABLE)
        table = model.table.with_status(status)
        model.table = table.with_servables({**table.servables, version: servable})
        LOG.info("model '%s' version %d is available", name, version)
        return True

    def _make_servable(self, name: str, version: int, path: Path) -> Servable:
        return Servable(
            name,
            version,
            self._load(name, path),
            threads=self._settings.run_threads,
            inline_s=self._settings.inline_run_s,
            max_waiting=self._settings.max_waiting_runs,
            batching=self._batching(path),
            checks_batches=self._settings.checks_batches,
            guard=self._limits.guard,
        )

    def _load(self, name: str, path: Path) -> LoadedModel:
        model = self._loader(path)
        engines = self._settings.engines
        if engines.get(name, engines.get("", "pinnace")) == "pinnace" or not model.definitions:
            return model
        from pinnace.serving.engines import through_onnx  # late: exporting is an extra

        return through_onnx(name, model)

    def _batching(self, path: Path) -> BatchOptions | None:
        """How requests for the version in this folder are joined."""
        own = path / PER_MODEL_FILE
        if self._settings.batching_per_model and own.is_file():
            return read_batching_parameters(own)
        return self._settings.batching

    def _unload(self, model: _Model, version: int) -> None:
        servables = dict(model.table.servables)
        servable = servables.pop(version)
        table = model.table.with_status(VersionStatus(version, State.UNLOADING))
        model.table = table.with_servables(servables)
        servable.close()
        model.table = model.table.with_status(VersionStatus(version, State.END))

    def _unload_all(self) -> None:
        for model in self._models.values():
            for version in list(model.table.servables):
                self._unload(model, version)

    def _set_labels(self, model: _Model) -> None:
        labels = dict(model.config.labels)
        if not self._settings.allow_labels_for_unavailable_versions:
            for label, version in labels.items():
                if version not in model.table.servables:
                    raise FailedPreconditionError(
                        f"Model '{model.config.name}': label '{label}' names version {version}, "
                        "which is not available"
                    )
        model.table = replace(model.table, labels=labels)


def _log_failure(name: str, status: VersionStatus) -> None:
    LOG.error("model '%s' version %d was not loaded: %s", name, status.version, status.message)


def _version_of_label(table: _Table, label: str) -> int:
    version = table.labels.get(label)
    if version is None:
        raise InvalidArgumentError(f"Unrecognized servable version label: {label}")
    return version


def _no_version(model: _Model) -> OpError:
    """Why a model cannot be served at all."""
    name, base = model.config.name, model.config.base_path
    if model.problem is not None:
        return NotFoundError(f"model '{name}': {model.problem}")
    failed = [s for s in model.table.statuses.values() if s.code != OK]
    if not failed and model.table.servables:
        return NotFoundError(
            f"model '{name}': {base} has only shadows, versions {sorted(model.table.servables)}: "
            "another version must answer"
        )
    if not failed:
        return NotFoundError(
            f"model '{name}': no version under {base}: there must be "
            f"{base}/<number>/saved_model.pb or {base}/saved_model.pb"
        )
    status = max(failed, key=lambda s: s.version)
    kind = exception_type_from_error_code(status.code or INVALID_ARGUMENT)
    return kind(f"model '{name}' version {status.version}: {status.message}")
