"""Values that differ between replicas, and structures of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.composite import (
    CompositeSpec,
    CompositeTensor,
    is_composite,
    kept_in_files_as,
)
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.places import current
from pinnace.framework.specs import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Tensor


class DistributedValues:
    """A value per replica; the base class of variables of a strategy.

    Args:
        values: one of each replica, in their order.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = tuple(values)

    @property
    def values(self) -> tuple[Any, ...]:
        """The values, in the order of the replicas."""
        return self._values

    def of_replica(self, replica: int) -> Any:
        """The value of replica number `replica`."""
        return self._values[replica]


class PerReplica(DistributedValues, CompositeTensor):
    """A composite value with a value per replica: an argument or result of `run` and `function`."""

    @property
    def spec(self) -> PerReplicaSpec:
        """The specs of the values."""
        return PerReplicaSpec(*map(_spec_of, self._values))

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Tensor:
        """The value of the replica that runs.

        Raises:
            ValueError: no replica runs.
        """
        place = current()
        if place is None or place.replica is None:
            raise ValueError(
                "It looks like you are using a PerReplica object while not inside a replica "
                "context, which is not supported: there is no one value\n"
                "  Try: strategy.run(function, args=(it,)), or strategy.experimental_local_results"
            )
        return convert_to_tensor(self._values[place.replica], dtype, name=name)

    def __repr__(self) -> str:
        return _listed(type(self).__name__, self._values, repr)

    def __str__(self) -> str:
        return _listed(type(self).__name__, self._values, str)


@kept_in_files_as("PER_REPLICA_SPEC")
class PerReplicaSpec(CompositeSpec):
    """The spec of a PerReplica: that of each value.

    Args:
        *value_specs: in the order of the replicas.
    """

    __slots__ = ("_value_specs",)

    def __init__(self, *value_specs: Any) -> None:
        self._value_specs = value_specs

    @property
    def value_type(self) -> type:
        """`PerReplica`."""
        return PerReplica

    def _serialize(self) -> tuple[Any, ...]:
        return self._value_specs

    def component_specs(self) -> tuple[TensorSpec, ...]:
        """The specs of the values."""
        return self._value_specs

    def to_components(self, value: Any) -> tuple[object, ...]:
        """The values."""
        return tuple([x if is_composite(x) else convert_to_tensor(x) for x in value.values])

    def from_components(self, components: Sequence[Any]) -> PerReplica:
        """The PerReplica of these."""
        return PerReplica(components)


def _spec_of(value: Any) -> Any:
    if is_composite(value):
        return value.spec
    tensor = convert_to_tensor(value)
    return TensorSpec.of(tensor.shape, tensor.dtype)


def _listed(name: str, values: Sequence[Any], text: Callable[[Any], str]) -> str:
    lines = ",\n".join(f"  {number}: {text(value)}" for number, value in enumerate(values))
    return f"{name}:{{\n{lines}\n}}"


def described(name: str, values: Sequence[Any]) -> str:
    """The values of all replicas as text, one line each."""
    return _listed(name, values, repr)


def local_values(value: Any, count: int) -> list[Any]:
    """The replicas' values; a single value if it is not a DistributedValues."""
    if isinstance(value, DistributedValues):
        return [value.of_replica(replica) for replica in range(count)]
    return [value]


def select(replica: int, structured: Any) -> Any:
    """A structure in which values of several replicas are replaced by those of one.

    Variables are passed unchanged: they determine themselves which replica reads them.
    """

    def one(leaf: Any) -> Any:
        return leaf.of_replica(replica) if isinstance(leaf, PerReplica) else leaf

    return structure.map_structure(one, structured)


def regroup(results: Sequence[Any]) -> Any:
    """The replicas' results combined into one structure; objects shared by all stay single.

    Raises:
        ValueError: the results differ in structure.
        TypeError: likewise.
    """
    first = results[0]
    if len(results) == 1:
        return first
    if not structure.is_nested(first):
        if all(other is first for other in results[1:]):
            return first
        return PerReplica(results)
    try:
        return structure.map_structure(lambda *leaves: regroup(leaves), *results)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"the replicas of a strategy must give the same structure: {error}"
        ) from None
