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
    """Nothing: ops run when they are called.

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
    """Nothing: this is version 2's behaviour."""


def enable_v2_tensorshape() -> None:
    """Nothing: sizes of shapes are numbers and None."""


def enable_resource_variables() -> None:
    """Nothing: all variables are such."""


def enable_control_flow_v2() -> None:
    """Nothing: conditions and loops are functions."""


def enable_tensor_equality() -> None:
    """Nothing: tensors are compared by their values."""


def resource_variables_enabled() -> bool:
    """True: all variables are such."""
    return True


def control_flow_v2_enabled() -> bool:
    """True: conditions and loops are functions."""
    return True


def executing_eagerly_outside_functions() -> bool:
    """True: outside of functions ops run when they are called."""
    return True


def disable_eager_execution() -> NoReturn:
    """There are no graphs outside of functions, and no sessions to run them.

    Raises:
        RuntimeError: always.
    """
    raise _refused("disable_eager_execution")


def disable_v2_behavior() -> NoReturn:
    """There is no other behaviour.

    Raises:
        RuntimeError: always.
    """
    raise _refused("disable_v2_behavior")


def disable_v2_tensorshape() -> NoReturn:
    """Sizes of shapes are numbers and None.

    Raises:
        RuntimeError: always.
    """
    raise _refused("disable_v2_tensorshape", "sizes of shapes are numbers and None")


def disable_resource_variables() -> NoReturn:
    """All variables are such.

    Raises:
        RuntimeError: always.
    """
    raise _refused("disable_resource_variables", "there is one kind of variables")


def disable_control_flow_v2() -> NoReturn:
    """Conditions and loops are functions.

    Raises:
        RuntimeError: always.
    """
    raise _refused("disable_control_flow_v2", "conditions and loops are functions")


def disable_tensor_equality() -> NoReturn:
    """Tensors are compared by their values.

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
