"""DTypePolicyMap: policies of layers by path."""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from pinnace.keras import dtype_policy, registry
from pinnace.keras.dtype_policy import DTypePolicy, add_policies

if TYPE_CHECKING:
    from collections.abc import Iterator


class DTypePolicyMap(DTypePolicy, MutableMapping[str, DTypePolicy]):
    """Policies by path of layers; given as a layer's `dtype`, each nested layer looks up its own.

    A path is looked for among the keys, then among those that match it in full as regular
    expressions. Others have the default policy.

    Args:
        default_policy: the default; `keras.config.dtype_policy()` if None.
        policy_map: path or pattern -> policy.

    Raises:
        ValueError: a default that is a map; a path that several patterns match; a key twice.
        TypeError: `policy_map` is no dict.
    """

    __slots__ = ("_default", "_policies", "_present")

    def __init__(
        self, default_policy: Any = None, policy_map: dict[str, DTypePolicy] | None = None
    ) -> None:
        if isinstance(default_policy, DTypePolicyMap):
            raise ValueError(  # noqa: TRY004 (Keras raises it too)
                "DTypePolicyMap: `default_policy` cannot be a `DTypePolicyMap`."
            )
        if policy_map is not None and not isinstance(policy_map, dict):
            raise TypeError(
                "DTypePolicyMap: If specified, `policy_map` must be a dict. Got "
                f"{type(policy_map).__name__}"
            )
        self._default = default_policy
        self._policies = {} if policy_map is None else policy_map
        self._set_present(self.default_policy)

    def _set_present(self, policy: DTypePolicy) -> None:
        """Compute by the rules of `policy`."""
        self._present = policy
        self._compute, self._variable = policy._compute, policy._variable

    def at(self, path: str) -> DTypePolicyMap:
        """The same map, as the layer of that path has it.

        Args:
            path: path of a layer.
        """
        made = type(self)(self._default)
        made._policies = self._policies
        made._set_present(self[path])
        return made

    def with_policy(self, path: str, policy: DTypePolicy) -> DTypePolicyMap:
        """The same map, in which the layer of that path now has `policy`.

        Args:
            path: path of a layer.
            policy: its new one.
        """
        self._policies[path] = policy
        return self.at(path)

    @property
    def name(self) -> str:
        """`map_` followed by the name of the default policy."""
        return f"map_{self.default_policy.name}"

    @property
    def default_policy(self) -> DTypePolicy:
        """The policy of layers without an entry."""
        return dtype_policy.get(self._default)

    @property
    def quantization_mode(self) -> str | None:
        """The quantization mode for the current layer; outside of layers, the default policy's."""
        return self._present.quantization_mode

    def __getitem__(self, key: str) -> DTypePolicy:
        if key in self._policies:
            return self._policies[key]
        found = [pattern for pattern in self._policies if re.fullmatch(pattern, key)]
        if len(found) > 1:
            raise ValueError(
                f"DTypePolicyMap: Path {key!r} matches multiple dtype policy specification keys: "
                f"{found}\n  Try: patterns such that each path matches at most one"
            )
        return self._policies[found[0]] if found else self.default_policy

    def __setitem__(self, key: str, policy: Any) -> None:
        if key in self._policies:
            raise ValueError(
                f"DTypePolicyMap: {key} already exist in the DTypePolicyMap with value "
                f"{self._policies[key]}\n  Try: del policy_map[{key!r}]"
            )
        try:
            self._policies[key] = dtype_policy.get(policy)
        except Exception as error:
            raise ValueError(
                "DTypePolicyMap: Cannot interpret the assigned value by `keras.dtype_policies.get`,"
                f" got {policy!r}"
            ) from error

    def __delitem__(self, key: str) -> None:
        del self._policies[key]

    def __contains__(self, key: object) -> bool:
        return key in self._policies

    def __len__(self) -> int:
        return len(self._policies)

    def __iter__(self) -> Iterator[str]:
        return iter(self._policies)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            "default_policy": self._default,
            "policy_map": registry.serialize_keras_object(self._policies),
        }

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> DTypePolicyMap:
        """The map with that configuration."""
        return cls(**registry.deserialize_keras_object(config, custom_objects))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and (self._default, self._policies) == (
            other._default,
            other._policies,
        )

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        mapping = [(key, policy.name) for key, policy in self._policies.items()]
        return (
            f"<DTypePolicyMap at {hex(id(self))} default_policy={self.default_policy.name}, "
            f"mapping={mapping}>"
        )


add_policies((DTypePolicyMap,))
