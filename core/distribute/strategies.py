"""Strategies: several replicas, one replica, and several replicas that share variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.distribute.extended import StrategyExtended
from pinnace.distribute.names import device_names
from pinnace.distribute.reductions import CrossDeviceOps, HierarchicalCopyAllReduce
from pinnace.distribute.strategy import Strategy
from pinnace.distribute.variables import (
    AggregatingVariable,
    MirroredVariable,
    SyncOnReadVariable,
    checked,
    made_in_scope,
)
from pinnace.framework.devices import list_logical_devices
from pinnace.framework.variable import VariableSynchronization

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class MirroredStrategy(Strategy):
    """Replicas on this machine's devices, each with a copy of the variables.

    The replicas split each batch, and add up their gradients. The devices are parts of one CPU
    (`config.set_logical_device_configuration`): the replicas take turns on its cores, so the
    results are those of several devices, but not the speed.

    Args:
        devices: a replica for each, by name; every logical CPU if None. A device of another kind is
            this CPU too, as everywhere.
        cross_device_ops: adds up values of the replicas; `HierarchicalCopyAllReduce` if None.

    Raises:
        ValueError: a name that is none, or one that comes twice.
        TypeError: `cross_device_ops` is something else.
    """

    def __init__(
        self,
        devices: Sequence[str] | str | None = None,
        cross_device_ops: CrossDeviceOps | None = None,
    ) -> None:
        super().__init__(MirroredExtended(self, devices, cross_device_ops))


class MirroredExtended(StrategyExtended):
    """The extended interface of a MirroredStrategy, which libraries use."""

    def __init__(
        self,
        container_strategy: Strategy,
        devices: Sequence[str] | str | None = None,
        cross_device_ops: CrossDeviceOps | None = None,
    ) -> None:
        super().__init__(container_strategy)
        given = [devices] if isinstance(devices, str) else list(devices or ())
        self._devices = device_names(
            "MirroredStrategy", given or [device.name for device in list_logical_devices("CPU")]
        )
        self._num_replicas = len(self._devices)
        if cross_device_ops is not None and not isinstance(cross_device_ops, CrossDeviceOps):
            raise TypeError(
                "MirroredStrategy: cross_device_ops must be CrossDeviceOps or None, got "
                f"{type(cross_device_ops).__name__}: {cross_device_ops!r}"
            )
        self._reducer = cross_device_ops or HierarchicalCopyAllReduce()

    def _creator(self, next_creator: Callable[..., Any], **options: Any) -> Any:
        kinds = (MirroredVariable, SyncOnReadVariable)
        return made_in_scope(kinds, self._container(), self._num_replicas, next_creator, options)


class OneDeviceStrategy(Strategy):
    """A single replica with plain variables, to try programs written for strategies.

    Args:
        device: its name.

    Raises:
        ValueError: a name that is none.
    """

    def __init__(self, device: str) -> None:
        super().__init__(OneDeviceExtended(self, device))


class OneDeviceExtended(StrategyExtended):
    """The extended interface of a OneDeviceStrategy, which libraries use."""

    _wraps_one = False

    def __init__(self, container_strategy: Strategy, device: str) -> None:
        super().__init__(container_strategy)
        self._devices = device_names("OneDeviceStrategy", [device])

    def _creator(self, next_creator: Callable[..., Any], **options: Any) -> Any:
        synchronization, _ = checked(options)
        if synchronization is VariableSynchronization.ON_READ and options.get("trainable") is None:
            options["trainable"] = False
        made = next_creator(**options)
        made._strategy = self._container()
        return made


class CentralStorageStrategy(Strategy):
    """Replicas that share one copy of the variables.

    Args:
        compute_devices: a replica for each, by name; the first CPU if None.
        parameter_device: the device of the variables; the first CPU if None.

    Raises:
        ValueError: a name that is none, or one that comes twice.
    """

    def __init__(
        self,
        compute_devices: Sequence[str] | None = None,
        parameter_device: str | None = None,
    ) -> None:
        super().__init__(CentralStorageExtended(self, compute_devices, parameter_device))


class CentralStorageExtended(StrategyExtended):
    """The extended interface of a CentralStorageStrategy, which libraries use."""

    _wraps_one = False

    def __init__(
        self,
        container_strategy: Strategy,
        compute_devices: Sequence[str] | None = None,
        parameter_device: str | None = None,
    ) -> None:
        super().__init__(container_strategy)
        who = "CentralStorageStrategy"
        self._devices = device_names(who, list(compute_devices or ["/device:CPU:0"]))
        self._home = device_names(who, [parameter_device or "/device:CPU:0"])
        self._num_replicas = len(self._devices)

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The name of the variables' device."""
        return self._home

    def _creator(self, next_creator: Callable[..., Any], **options: Any) -> Any:
        checked(options)
        if self._num_replicas == 1:
            return next_creator(**options)
        kinds = (AggregatingVariable, AggregatingVariable)
        return made_in_scope(kinds, self._container(), 1, next_creator, options)
