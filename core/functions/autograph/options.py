"""Options of AutoGraph, and the directive for loops."""

from __future__ import annotations

import enum
import logging
import os
from contextvars import ContextVar
from typing import Any

log = logging.getLogger("pinnace.autograph")


class Feature(enum.Enum):
    """Optional features of the conversion: `experimental_autograph_options`.

    BUILTIN_FUNCTIONS makes a `print` of tensors an op, which prints whenever the graph runs. Of the
    others, the safe ones are always on.
    """

    ALL = "ALL"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"

    @classmethod
    def all(cls) -> tuple[Feature, ...]:
        """The set of all features."""
        return tuple(cls)

    @classmethod
    def all_but(cls, exclude: Any) -> tuple[Feature, ...]:
        """All features except those given."""
        left_out = set(exclude) if isinstance(exclude, (list, tuple, set)) else {exclude}
        return tuple(one for one in cls if one not in left_out and one is not cls.ALL)


# Whether `print` of tensors is an op in the function that is being traced.
print_is_op: ContextVar[bool] = ContextVar("print_is_op", default=False)


def makes_print_an_op(features: Any) -> bool:
    """Whether a feature, several of them, or None, convert `print`.

    Raises:
        TypeError: the argument is no feature.
    """
    given = () if features is None else features
    given = tuple(given) if isinstance(given, (list, tuple, set, frozenset)) else (given,)
    for one in given:
        if not isinstance(one, Feature):
            raise TypeError(
                "function: experimental_autograph_options must be an "
                f"autograph.experimental.Feature, or several of them, got {one!r}"
            )
    return Feature.BUILTIN_FUNCTIONS in given or Feature.ALL in given


_verbosity = int(os.environ.get("AUTOGRAPH_VERBOSITY", "0") or 0)


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Set how much AutoGraph logs: warnings only for 0, conversions from 1 on.

    Args:
        level: 0 to 10.
        alsologtostdout: whether it is printed as well.
    """
    global _verbosity
    _verbosity = level
    log.setLevel(logging.DEBUG if level else logging.NOTSET)
    if alsologtostdout and not log.handlers:
        import sys

        log.addHandler(logging.StreamHandler(sys.stdout))


def verbosity() -> int:
    """The level last set."""
    return _verbosity


def trace(*args: Any) -> None:
    """Print while the function is traced rather than when it runs, for debugging."""
    print(*args)  # noqa: T201 (printing is what it is for)


def set_loop_options(
    parallel_iterations: Any = None,
    swap_memory: Any = None,
    maximum_iterations: Any = None,
    shape_invariants: Any = None,
) -> None:
    """Set options of the enclosing loop; must be the first statement of its body.

    Outside AutoGraph it has no effect.

    Args:
        parallel_iterations: a hint.
        swap_memory: accepted for TensorFlow's sake.
        maximum_iterations: how many iterations at most.
        shape_invariants: (variable, shape) pairs: shapes that hold before and after every
            iteration.
    """
    del parallel_iterations, swap_memory, maximum_iterations, shape_invariants
