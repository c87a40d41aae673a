"""`tf.DeviceSpec`: the components of a device name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_TYPES = frozenset({"CPU", "GPU", "TPU", "CUSTOM", "EPU"})


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class DeviceSpec:
    """A device, named as far as it matters.

    Args:
        job: name of the job, None for any.
        replica: number of the replica, None for any.
        task: number of the task, None for any.
        device_type: such as "CPU", None for any.
        device_index: index of the device of that type; None for any.
    """

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None
    _text: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self._put("job", None if self.job is None else str(self.job))
        for name in ("replica", "task", "device_index"):
            given = getattr(self, name)
            self._put(name, None if given is None else _number(name, given))
        kind = None if self.device_type is None else str(self.device_type)
        self._put("device_type", kind.upper() if kind in {"cpu", "gpu"} else kind)
        parts = [
            f"/{name}:{getattr(self, name)}"
            for name in ("job", "replica", "task")
            if getattr(self, name) is not None
        ]
        if self.device_type is not None:
            index = "*" if self.device_index is None else self.device_index
            parts.append(f"/device:{self.device_type}:{index}")
        self._put("_text", "".join(parts))

    def _put(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def to_string(self) -> str:
        """The components that are set as text: `/job:worker/replica:0/task:0/device:CPU:0`."""
        return self._text

    @classmethod
    def from_string(cls, spec: str | None) -> DeviceSpec:
        """The device of a name.

        Args:
            spec: a name as `to_string` writes it, or with `/CPU:0` for `/device:CPU:0`; `*` is any
                index.

        Raises:
            ValueError: a part is unknown, or two name a type.
        """
        found: dict[str, Any] = {}
        for part in (spec or "").split("/"):
            if part:
                _read(part.split(":"), found, spec)
        return cls(**found)

    def parse_from_string(self, spec: str | None) -> DeviceSpec:
        """Like `from_string`, since specs are immutable."""
        return self.from_string(spec)

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """This spec, with components overridden by those set in `dev`.

        Args:
            dev: the other spec.
        """
        return self.replace(**{k: v for k, v in dev._parts().items() if v is not None})

    def replace(self, **kwargs: Any) -> DeviceSpec:
        """This spec with other components.

        Args:
            kwargs: parts, as the constructor takes them; None for any.
        """
        return type(self)(**{**self._parts(), **kwargs})

    def _parts(self) -> dict[str, Any]:
        names = ("job", "replica", "task", "device_type", "device_index")
        return {name: getattr(self, name) for name in names}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceSpec) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return f"<DeviceSpec({', '.join(f'{k}={v}' for k, v in self._parts().items())})>"


def _read(words: list[str], found: dict[str, Any], spec: str | None) -> None:
    """Store a parsed component in `found`."""
    first, *rest = words
    if first in {"job", "replica", "task"} and len(rest) == 1:
        found[first] = rest[0]
        return
    if first == "device" and len(rest) == 2:
        kind, index = rest
    elif first.upper() in _TYPES and len(rest) <= 1:
        kind, index = first.upper(), rest[0] if rest else "*"
    elif first:
        raise ValueError(
            f"DeviceSpec: Unknown attribute '{first}' in {spec!r}\n"
            "  Try: /job:<name>/replica:<number>/task:<number>/device:CPU:<number>"
        )
    else:
        return
    if "device_type" in found:
        raise ValueError(f"DeviceSpec: Multiple device types are not allowed, got {spec!r}")
    found["device_type"] = kind
    found["device_index"] = None if index == "*" else index


def _number(name: str, given: Any) -> int:
    try:
        return int(given)
    except ValueError:
        raise ValueError(f"DeviceSpec: {name} must be a number, got {given!r}") from None
