"""Random numbers: stateful streams, stateless functions of a seed, generators."""

# A package's names are those of its families.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.ops.random import experimental as experimental
from pinnace.ops.random.algorithms import *
from pinnace.ops.random.candidates import *
from pinnace.ops.random.distributions import *
from pinnace.ops.random.generator import *
from pinnace.ops.random.seeds import *
from pinnace.ops.random.shuffling import *
from pinnace.ops.random.stateful import *
from pinnace.ops.random.stateless import *

if TYPE_CHECKING:
    from pinnace.ops.random.truncated import (
        stateless_parameterized_truncated_normal as stateless_parameterized_truncated_normal,
    )

_SELDOM = "stateless_parameterized_truncated_normal"

if not TYPE_CHECKING:  # a checker that saw this would let every typo pass

    def __getattr__(name: str) -> Any:
        if name != _SELDOM:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from pinnace.ops.random import truncated

        return truncated.stateless_parameterized_truncated_normal


def __dir__() -> list[str]:
    return sorted({*globals(), _SELDOM})
