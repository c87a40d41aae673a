"""The random number algorithms of ops by name and number."""

import enum
from typing import Any

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import Array, Tensor

__all__ = ["Algorithm"]


class Algorithm(enum.Enum):
    """A generator of random words.

    Source:
        Salmon and others, 2011; numbers of TensorFlow's rng_alg.h.
    """

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


_NAMES = {
    "philox": Algorithm.PHILOX,
    "threefry": Algorithm.THREEFRY,
    "autoselect": Algorithm.AUTO_SELECT,
}


def algorithm_number(alg: Any) -> Any:
    """The number of an algorithm given by name, number or member; tensors unchanged.

    Raises:
        ValueError: the algorithm is unknown.
        TypeError: something else.
    """
    if isinstance(alg, Algorithm):
        return alg.value
    if isinstance(alg, Tensor):
        return alg
    if isinstance(alg, int):
        found = next((known for known in Algorithm if known.value == alg), None)
    elif isinstance(alg, str):
        found = _NAMES.get(alg.strip().lower().replace("-", "").replace("_", ""))
    else:
        raise TypeError(f"alg must be an Algorithm, its name or its number, got {alg!r}")
    if found is None:
        raise ValueError(f"alg must be 'philox', 'threefry' or 'auto_select', got {alg!r}")
    return found.value


def check_philox(op: str, alg: Array) -> None:
    """Raise InvalidArgumentError unless the number is Philox's, or leaves the choice."""
    if int(alg) not in {Algorithm.PHILOX.value, Algorithm.AUTO_SELECT.value}:
        raise InvalidArgumentError(
            f"{op}: on CPUs alg must be 1 (Philox) or 3 (automatic), got {int(alg)}"
        )
