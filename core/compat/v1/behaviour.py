"""Switches between the behaviour of versions 1 and 2: that of version 2 is always on."""

from __future__ import annotations

from typing import Any, NoReturn

from pinnace.framework.no_effect import ignored

__all__ = [
    "control_flow_v2_enabled",
    "disable_control_flow_v2",
    "disable_eager_execution",
    "disable_resource_variables",
    "disable_tensor_equality",
    "disable_v2_behavior",
    "disable_v2_tensorshape",
    "enable_control_flow_v2",
    "enable_eager_execution",
    "enable_resource_variables",
    "enable_tensor_equality",
    "enable_v2_behavior",
    "enable_v2_tensorshape",
    "executing_eagerly_outside_functions",
    "resource_variables_enabled",
]


def enable_eager_execution(
    config: Any = None, device_policy: Any = None, execution_mode: Any = None
) -> None:
    """Does nothing: ops run eagerly.

    Args:
        config: without effect, as in TensorFlow 2; says so.
        device_policy: without effect: there are no devices to copy between; says so.
        execution_mode: without effect: ops run one after another; says so.
    """
    ignored(
        "compat.v1.enable_eager_execution",
        "ops run when they are called, on one device",
        config=config,
        device_policy=device_policy,
        execution_mode=execution_mode,
    )


def enable_v2_behavior() -> None:
    """Does nothing: version 2's behaviour is always on."""


def enable_v2_tensorshape() -> None:
    """Does nothing: sizes of shapes are integers or None."""


def enable_resource_variables() -> None:
    """Does nothing: all variables are resource variables."""


def enable_control_flow_v2() -> None:
    """Does nothing: conditions and loops are functions."""


def enable_tensor_equality() -> None:
    """Does nothing: tensors are compared by value."""


def resource_variables_enabled() -> bool:
    """True: all variables are resource variables."""
    return True


def control_flow_v2_enabled() -> bool:
    """True: conditions and loops are functions."""
    return True


def executing_eagerly_outside_functions() -> bool:
    """True: outside of functions, ops run eagerly."""
    return True


def disable_eager_execution() -> NoReturn:
    """Raises an error: there are no graphs outside of functions, and no sessions.

    Raises:
        RuntimeError: always.
    """
    raise _refused("disable_eager_execution")


def disable_v2_behavior() -> NoReturn:
    """Raises an error: there is no other behaviour.

    Raises:
        RuntimeError: always.
    """
    raise _refused("disable_v2_behavior")


def disable_v2_tensorshape() -> NoReturn:
    """Raises an error: sizes of shapes are integers or None.

    Raises:
        RuntimeError: always.
    """
    raise _refused("disable_v2_tensorshape", "sizes of shapes are numbers and None")


def disable_resource_variables() -> NoReturn:
    """Raises an error: all variables are resource variables.

    Raises:
        RuntimeError: always.
    """
    raise _refused("disable_resource_variables", "there is one kind of variables")


def disable_control_flow_v2() -> NoReturn:
    """Raises an error: conditions and loops are functions.

    Raises:
        RuntimeError: always.
    """
    raise _refused("disable_control_flow_v2", "conditions and loops are functions")


def disable_tensor_equality() -> NoReturn:
    """Raises an error: tensors are compared by value.

    Raises:
        RuntimeError: always.
    """
    raise _refused("disable_tensor_equality", "tensors are compared by their values")


def _refused(
    name: str, why: str = "there are no graphs outside of functions, no sessions"
) -> RuntimeError:
    return RuntimeError(
        f"tf.compat.v1.{name}: {why}\n"
        "  Try: the program without it, upgraded by `pinnace upgrade`; a graph is a tf.function"
    )
