"""Options of a pipeline: threads, memory, determinism. They do not change the elements."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Any, ClassVar, Self

from pinnace.framework.no_effect import ignored


class AutoShardPolicy(IntEnum):
    """The policies by which a strategy distributes a dataset to the processes of a job.

    FILE: each process reads separate files; DATA: its part of each batch; AUTO: FILE if everything
    is read from files, else DATA; OFF and HINT: each reads everything.
    """

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class AutotuneAlgorithm(Enum):
    """Accepted for TensorFlow's sake; threads are started where measurements favour them."""

    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


class ExternalStatePolicy(Enum):
    """Accepted for TensorFlow's sake; has no effect on an iterator's saved position."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


class _Choices:
    """Named options, None until they are set; unknown names are refused."""

    _names: ClassVar[tuple[str, ...]] = ()
    _parts: ClassVar[dict[str, type[_Choices]]] = {}
    # The names that change something, and why the others do not.
    _heeded: ClassVar[frozenset[str]] = frozenset()
    _why: ClassVar[str] = "there is one process on one machine"

    def __init__(self) -> None:
        for name in self._names:
            object.__setattr__(self, name, None)
        for name, kind in self._parts.items():
            object.__setattr__(self, name, kind())

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._parts:
            if not isinstance(value, self._parts[name]):
                raise TypeError(
                    f"{type(self).__name__}.{name} must be {self._parts[name].__name__}, "
                    f"got {value!r}"
                )
        elif name not in self._names and not hasattr(type(self), name):
            raise AttributeError(
                f"{type(self).__name__} has no option {name!r}; "
                f"it has {', '.join([*self._names, *self._parts])}"
            )
        object.__setattr__(self, name, value)
        if name in self._names and name not in self._heeded:
            ignored(type(self).__name__, self._why, **{name: value})

    def _merged(self, other: Self) -> Self:
        found = type(self)()
        for name in self._names:
            mine, theirs = getattr(self, name), getattr(other, name)
            object.__setattr__(found, name, mine if theirs is None else theirs)
        for name in self._parts:
            part = getattr(self, name)._merged(getattr(other, name))
            object.__setattr__(found, name, part)
        return found

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]  # it can change

    def __repr__(self) -> str:
        told = {name: value for name, value in vars(self).items() if value is not None}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in told.items())})"


class AutotuneOptions(_Choices):
    """Accepted for TensorFlow's sake."""

    _why = "threads are started where they pay"

    _names = (
        "enabled",
        "cpu_budget",
        "ram_budget",
        "autotune_algorithm",
        "initial_parallelism",
        "min_parallelism",
    )


class ThreadingOptions(_Choices):
    """Accepted for TensorFlow's sake; `num_parallel_calls` sets the threads of a map."""

    _why = "num_parallel_calls says how many threads a map may use"

    _names = ("max_intra_op_parallelism", "private_threadpool_size")


class DistributeOptions(_Choices):
    """Options for the distribution of a dataset to the processes of a job.

    auto_shard_policy: an AutoShardPolicy; it has an effect in a strategy over several processes.
    num_devices: accepted.
    """

    _heeded = frozenset({"auto_shard_policy"})
    _names = ("auto_shard_policy", "num_devices")


class OptimizationOptions(_Choices):
    """Accepted for TensorFlow's sake; functions are vectorised whenever possible."""

    _why = "what can be done for many elements at once is"

    _names = (
        "apply_default_optimizations",
        "filter_fusion",
        "filter_parallelization",
        "inject_prefetch",
        "map_and_batch_fusion",
        "map_and_filter_fusion",
        "map_fusion",
        "map_parallelization",
        "noop_elimination",
        "parallel_batch",
        "seq_interleave_prefetch",
        "shuffle_and_repeat_fusion",
    )


class ServiceOptions(_Choices):
    """Accepted for TensorFlow's sake; there is no data service."""

    _names = ("pinned",)


class Options(_Choices):
    """Options of a pipeline: threads, memory, determinism. They do not change the elements.

    Attributes:
        deterministic: False lets parallel stages give elements as they are ready.
        experimental_deterministic: an older name.
        experimental_distribute: the shard that each process of a job reads.
        autotune, threading, experimental_optimization, others: accepted.
    """

    _heeded = frozenset({"deterministic"})
    _names = (
        "deterministic",
        "dataset_name",
        "framework_type",
        "experimental_external_state_policy",
        "experimental_slack",
        "experimental_symbolic_checkpoint",
        "experimental_warm_start",
    )
    _parts: ClassVar[dict[str, type[_Choices]]] = {
        "autotune": AutotuneOptions,
        "threading": ThreadingOptions,
        "experimental_distribute": DistributeOptions,
        "experimental_optimization": OptimizationOptions,
        "experimental_service": ServiceOptions,
    }
    deterministic: bool | None

    @property
    def experimental_deterministic(self) -> bool | None:
        """An older name of `deterministic`."""
        return self.deterministic

    @experimental_deterministic.setter
    def experimental_deterministic(self, value: bool | None) -> None:
        self.deterministic = value

    @property
    def experimental_threading(self) -> Any:
        """An older name of `threading`."""
        return self.threading

    @experimental_threading.setter
    def experimental_threading(self, value: ThreadingOptions) -> None:
        self.threading = value

    def merge(self, options: Options) -> Options:
        """These options, overridden by those that are set in `options`."""
        return self._merged(options)
