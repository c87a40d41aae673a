"""DTypePolicy: the dtype of a layer's computation, and the dtype of its weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from pinnace.framework import dtypes
from pinnace.framework.late_modules import LateModules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MIXED = {"mixed_float16": "float16", "mixed_bfloat16": "bfloat16"}


class DTypePolicy:
    """The dtypes of a layer.

    Args:
        name: a dtype, for both; or `mixed_float16` or `mixed_bfloat16`: weights in float32,
            computation in the other.

    Raises:
        ValueError: `name` is neither.
    """

    __slots__ = ("_compute", "_name", "_variable")

    def __init__(self, name: str | None = None) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(
                f"DTypePolicy: 'name' must be a string, got {type(name).__name__}: {name!r}"
            )
        self._name = dtype_policy().name if name is None else name
        if self._name in _MIXED:
            self._compute = dtypes.as_dtype(_MIXED[self._name])
            self._variable = dtypes.float32
            return
        try:
            self._compute = self._variable = dtypes.as_dtype(self._name)
        except TypeError:
            raise ValueError(
                f"DTypePolicy: Cannot convert it to a policy: name must be a dtype, or one of "
                f"{', '.join(_MIXED)}, got {name!r}"
            ) from None

    @property
    def name(self) -> str:
        """The name it was made from."""
        return self._name

    @property
    def compute_dtype(self) -> str:
        """The name of the dtype of a layer's inputs and outputs."""
        return self._compute.name

    @property
    def variable_dtype(self) -> str:
        """The name of the dtype of weights."""
        return self._variable.name

    @property
    def compute(self) -> dtypes.DType:
        """The dtype of a layer's inputs and outputs."""
        return self._compute

    @property
    def is_mixed(self) -> bool:
        """Whether the dtype of weights differs from that of computation."""
        return self._compute is not self._variable

    @property
    def quantization_mode(self) -> str | None:
        """The quantization of weights; None if they are not quantized."""
        return None

    def at(self, path: str) -> DTypePolicy:
        """The policy of the layer of that path: this one, or the entry of a DTypePolicyMap.

        Args:
            path: path of a layer.
        """
        del path
        return self

    def with_policy(self, path: str, policy: DTypePolicy) -> DTypePolicy:
        """The policy that replaces this one when the layer of that path is given `policy`.

        Args:
            path: path of a layer.
            policy: its new one.
        """
        del path
        return policy

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"name": self._name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> DTypePolicy:
        """The policy with that configuration."""
        return cls(**config)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._name == other._name

    def __hash__(self) -> int:
        return hash(self._name)

    def __repr__(self) -> str:
        return f'<DTypePolicy "{self._name}">'


PolicyLike: TypeAlias = DTypePolicy | dtypes.DType | str | None


class _Defaults:
    """The default policy, and the small number that losses use."""

    __slots__ = ("epsilon", "floatx", "policy")

    def __init__(self) -> None:
        self.epsilon = 1e-7
        self.floatx = "float32"
        self.policy: DTypePolicy | None = None


_defaults = _Defaults()
# Policies of quantized layers, which few models have: their classes by name, and what makes one of
# a name such as `int8_from_float32`. The module puts them here when it is imported.
_classes: dict[str, type[DTypePolicy]] = {}
_makers: list[Callable[[str], DTypePolicy | None]] = []
_later = LateModules("pinnace.keras.quantized_policies", "pinnace.keras.policy_map")


def add_policies(
    classes: Iterable[type[DTypePolicy]], make: Callable[[str], DTypePolicy | None] | None = None
) -> None:
    """Make policies known to `get`.

    Args:
        classes: the classes, by their names in configurations.
        make: the policy that a name means; None if it is no such name.
    """
    _classes.update({kind.__name__: kind for kind in classes})
    if make is not None:
        _makers.append(make)


def get(identifier: PolicyLike | dict[str, Any]) -> DTypePolicy:
    """The policy that `identifier` names: a policy, a dtype, its name, or a configuration.

    Raises:
        ValueError: `identifier` names no policy.
    """
    if isinstance(identifier, DTypePolicy):
        return identifier
    if identifier is None:
        return dtype_policy()
    if isinstance(identifier, dict):
        return _of_config(identifier)
    if isinstance(identifier, str):
        return _quantized(identifier) or DTypePolicy(identifier)
    try:
        if isinstance(identifier, int):  # a number of types.proto, which Keras does not know
            raise TypeError  # noqa: TRY301
        return DTypePolicy(dtypes.as_dtype(identifier).name)
    except TypeError:
        raise ValueError(
            "keras.dtype_policies.get: Cannot interpret the argument: it must be a policy, a dtype "
            f"or its name, got {identifier!r}"
        ) from None


def _of_config(told: dict[str, Any]) -> DTypePolicy:
    """The policy for a configuration, whose class must be a known one."""
    name = str(told.get("class_name"))
    kind = DTypePolicy if name == "DTypePolicy" else _later.find(lambda: _classes.get(name))
    return (kind or DTypePolicy).from_config(told["config"])


def _quantized(name: str) -> DTypePolicy | None:
    if "_from_" not in name:
        return None
    make = _later.find(lambda: _makers[-1] if _makers else None)
    return None if make is None else make(name)


def dtype_policy() -> DTypePolicy:
    """The default policy of layers."""
    if _defaults.policy is None:
        _defaults.policy = DTypePolicy(_defaults.floatx)
    return _defaults.policy


def set_dtype_policy(policy: PolicyLike) -> None:
    """Make `policy` that of layers that are given none.

    Raises:
        ValueError: the value is None, or no policy.
    """
    if policy is None:
        raise ValueError(
            "set_dtype_policy: Invalid `policy` argument: it must be a policy or its name, got None"
        )
    try:
        _defaults.policy = get(policy)
    except ValueError as error:
        raise ValueError(f"set_dtype_policy: Invalid `policy` argument: {error}") from None


def floatx() -> str:
    """The name of the default float dtype."""
    return _defaults.floatx


def set_floatx(value: str) -> None:
    """Set the default float dtype, and with it the default policy.

    Raises:
        ValueError: `value` is no float dtype.
    """
    if value not in {"float16", "bfloat16", "float32", "float64"}:
        raise ValueError(f"set_floatx: value must be the name of a float dtype, got {value!r}")
    _defaults.floatx = value
    _defaults.policy = None


def epsilon() -> float:
    """The small number that keeps losses away from 0 and 1."""
    return _defaults.epsilon


def set_epsilon(value: float) -> None:
    """Set the small number that losses, metrics and constraints use.

    Args:
        value: in place of 1e-7.
    """
    _defaults.epsilon = value
