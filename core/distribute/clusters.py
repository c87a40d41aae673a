"""The processes of a job in TensorFlow's interface: ClusterSpec, and resolvers.

Under MPI the launcher defines the processes. A cluster described by TF_CONFIG or a resolver is
checked against MPI, and names the processes.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from pinnace.proto.cluster_pb2 import ClusterDef, JobDef

if TYPE_CHECKING:
    from collections.abc import Mapping

_CHIEFS = ("chief", "master")
# Tasks that train in step with the others.
_WORKERS = (*_CHIEFS, "worker")


class ClusterSpec:
    """The addresses of processes, by job: `{"worker": ["host0:2222", "host1:2222"]}`.

    Args:
        cluster: job -> list of addresses, or a dict of them by task number; a ClusterSpec or a
            ClusterDef.

    Raises:
        TypeError: something else.
    """

    def __init__(self, cluster: Any) -> None:
        given = cluster.as_dict() if isinstance(cluster, ClusterSpec) else cluster
        if isinstance(cluster, ClusterDef):
            given = {job.name: dict(job.tasks) for job in cluster.job}
        if not isinstance(given, dict):
            raise TypeError(
                "ClusterSpec: cluster must be a dictionary of jobs, a ClusterSpec or a "
                "ClusterDef, got "
                f"{cluster!r}"
            )
        self._jobs: dict[str, dict[int, str]] = {}
        for job, tasks in given.items():
            if not isinstance(tasks, (list, tuple, dict)):
                raise TypeError(
                    f"ClusterSpec: the tasks of job {job!r} must be a list or a dict of addresses, "
                    f"got {tasks!r}"
                )
            pairs = tasks.items() if isinstance(tasks, dict) else enumerate(tasks)
            found = {int(number): address for number, address in pairs}
            if not all(isinstance(address, str) for address in found.values()):
                raise TypeError(f"ClusterSpec: addresses of job {job!r} must be strings: {tasks!r}")
            self._jobs[str(job)] = dict(sorted(found.items()))

    def as_dict(self) -> dict[str, Any]:
        """Job -> list of addresses; a dict by task number if numbers are missing."""
        return {
            job: list(tasks.values()) if list(tasks) == list(range(len(tasks))) else dict(tasks)
            for job, tasks in self._jobs.items()
        }

    def as_cluster_def(self) -> ClusterDef:
        """The same as a message: jobs by name, tasks by number."""
        jobs = sorted(self._jobs.items())
        return ClusterDef(job=[JobDef(name=name, tasks=tasks) for name, tasks in jobs])

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """The number of tasks of a job."""
        return len(self._tasks(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The numbers of the tasks of a job."""
        return list(self._tasks(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """The address of a task.

        Raises:
            ValueError: there is no such job or task.
        """
        tasks = self._tasks(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}.")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """The addresses of the tasks of a job, None where a number is missing."""
        tasks = self._tasks(job_name)
        return [tasks.get(number) for number in range(max(tasks, default=-1) + 1)]

    def _tasks(self, job_name: str) -> dict[int, str]:
        if job_name not in self._jobs:
            raise ValueError(f"No such job in cluster: {job_name!r}")
        return self._jobs[job_name]

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and other._jobs == self._jobs

    __hash__ = None  # type: ignore[assignment]  # as a dictionary

    def __repr__(self) -> str:
        return f"ClusterSpec({self.as_dict()!r})"


class ClusterResolver:
    """Describes the cluster's processes, and which one this is; a base class.

    A subclass defines `cluster_spec` and `master`, and sets `task_type` and `task_id`.
    """

    task_type: str | None = None
    task_id: int | None = None

    def cluster_spec(self) -> ClusterSpec:
        """The addresses of the processes."""
        raise NotImplementedError(f"{type(self).__name__} must define cluster_spec")

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """The address of a process.

        Args:
            task_type: its job.
            task_id: its number there.
            rpc_layer: prefix of the address, such as `grpc`.
        """
        raise NotImplementedError(f"{type(self).__name__} must define master")

    def num_accelerators(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        config_proto: Any = None,
    ) -> dict[str, int]:
        """The number of GPUs and TPUs of a process: none.

        Args:
            task_type: accepted.
            task_id: accepted.
            config_proto: accepted.
        """
        del task_type, task_id, config_proto
        return {}

    @property
    def environment(self) -> str:
        """An empty string: no provider of machines is distinguished."""
        return ""


class SimpleClusterResolver(ClusterResolver):
    """A resolver for a given cluster.

    Args:
        cluster_spec: a ClusterSpec.
        master: the address of the chief.
        task_type: the job of this process.
        task_id: its number there.
        environment: accepted.
        num_accelerators: by kind, given back.
        rpc_layer: prefix of addresses.

    Raises:
        TypeError: `cluster_spec` is something else.
    """

    def __init__(
        self,
        cluster_spec: ClusterSpec,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: Mapping[str, int] | None = None,
        rpc_layer: str | None = None,
    ) -> None:
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError(
                f"SimpleClusterResolver: cluster_spec must be a ClusterSpec, got {cluster_spec!r}"
            )
        self._spec = cluster_spec
        self._master = master
        self.task_type, self.task_id = task_type, task_id
        self._environment = environment
        self._accelerators = dict(num_accelerators or {})
        self.rpc_layer = rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """The addresses it was told."""
        return self._spec

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """The address of a task, or of the chief."""
        if task_type is not None and task_id is not None:
            address = self._spec.task_address(task_type, task_id)
        else:
            address = self._master
        layer = rpc_layer or self.rpc_layer
        return f"{layer}://{address}" if layer and address else address

    def num_accelerators(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        config_proto: Any = None,
    ) -> dict[str, int]:
        """The given number."""
        del task_type, task_id, config_proto
        return dict(self._accelerators)

    @property
    def environment(self) -> str:
        """The given environment."""
        return self._environment


class TFConfigClusterResolver(ClusterResolver):
    """A resolver that reads the environment variable TF_CONFIG at each call.

    Args:
        task_type: instead of the one there.
        task_id: likewise.
        rpc_layer: prefix of addresses.
        environment: instead of the one there.

    Raises:
        ValueError: TF_CONFIG is no JSON object.
    """

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:
        task = tf_config().get("task", {})
        self.task_type = task.get("type") if task_type is None else str(task_type)
        number = task.get("index") if task_id is None else task_id
        self.task_id = None if number is None else int(number)
        self.rpc_layer = rpc_layer or tf_config().get("rpc_layer")
        self._environment = environment

    @property
    def environment(self) -> str:
        """The environment in TF_CONFIG."""
        return self._environment or str(tf_config().get("environment", ""))

    def cluster_spec(self) -> ClusterSpec:
        """The addresses in TF_CONFIG; empty if it is not set."""
        return ClusterSpec(tf_config().get("cluster", {}))

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """The address of a task, by default this one's; empty for a cluster of one process."""
        spec = self.cluster_spec()
        if not spec or (spec.jobs == ["worker"] and spec.num_tasks("worker") == 1):
            return ""
        kind = self.task_type if task_type is None else task_type
        number = self.task_id if task_id is None else task_id
        if kind is None or number is None:
            return ""
        layer = rpc_layer or self.rpc_layer
        address = spec.task_address(kind, number)
        return f"{layer}://{address}" if layer else address


class _JobResolver(SimpleClusterResolver):
    """The processes of an MPI job as a cluster of workers without addresses."""

    def __init__(self, rank: int, size: int) -> None:
        spec = ClusterSpec({"worker": [f"process{number}" for number in range(size)]})
        super().__init__(spec, task_type="worker", task_id=rank)


def tf_config() -> dict[str, Any]:
    """The environment variable TF_CONFIG, read; empty if it is not set.

    Raises:
        ValueError: the variable does not hold a JSON object.
    """
    text = os.environ.get("TF_CONFIG", "{}") or "{}"
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ValueError(f"TF_CONFIG must be JSON, is {text!r}: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"TF_CONFIG must be a JSON object, is {text!r}")  # noqa: TRY004
    return found


def described_workers(given: Any) -> int:
    """The number of training processes in the resolver (TF_CONFIG if None); 0 if there are none."""
    spec = ClusterSpec((TFConfigClusterResolver() if given is None else given).cluster_spec())
    return sum(spec.num_tasks(job) for job in spec.jobs if job in _WORKERS)


def resolver_of(who: str, given: Any, rank: int, size: int) -> ClusterResolver:
    """The resolver of a job, checked against MPI's information.

    Args:
        who: name of the caller in messages.
        given: the user's; else TF_CONFIG is asked, if it describes a cluster.
        rank: the number of this process, by MPI.
        size: how many there are, by MPI.

    Raises:
        ValueError: wrong number of processes, another number of this one, or a task that does not
            train.
    """
    resolver: ClusterResolver = TFConfigClusterResolver() if given is None else given
    spec = ClusterSpec(resolver.cluster_spec())
    if not spec:
        return _JobResolver(rank, size)
    source = "TF_CONFIG" if given is None else type(given).__name__
    kind, number = resolver.task_type, resolver.task_id
    if kind is not None and kind not in _WORKERS:
        raise ValueError(
            f"{who}: {source} says that this process is {kind} {number}: only chief and worker "
            "train in step\n"
            "  Try: no process for it under mpirun; `evaluate` in a program of its own"
        )
    workers = sum(spec.num_tasks(job) for job in spec.jobs if job in _WORKERS)
    if workers != size:
        raise ValueError(
            f"{who}: {source} describes {workers} processes, and MPI has {size}\n"
            f"  Try: mpirun -n {workers} --host {_hosts(spec)} python program.py; the processes "
            "of a job are joined by MPI, not by addresses, and TF_CONFIG need not be set"
        )
    before = sum(spec.num_tasks(job) for job in spec.jobs if job in _CHIEFS)
    ranked = None if number is None else number + (0 if kind in _CHIEFS else before)
    if ranked is not None and ranked != rank:
        raise ValueError(
            f"{who}: {source} says that this process is {kind} {number}, and MPI that it is number "
            f"{rank} of {size}\n"
            "  Try: without TF_CONFIG, or set in each process as MPI counts them: chief first"
        )
    return resolver


def _hosts(spec: ClusterSpec) -> str:
    tasks = [task for job in spec.jobs if job in _WORKERS for task in spec.job_tasks(job)]
    hosts = [str(task).rpartition(":")[0] or str(task) for task in tasks]
    counts = {host: hosts.count(host) for host in hosts}
    return ",".join(f"{host}:{count}" for host, count in counts.items())
