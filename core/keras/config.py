"""`keras.config`: default dtype, dtype policy, epsilon, limits, and logging."""

from __future__ import annotations

from pinnace.framework.no_effect import no_effect
from pinnace.framework.tracebacks import disable_traceback_filtering as disable_traceback_filtering
from pinnace.framework.tracebacks import enable_traceback_filtering as enable_traceback_filtering
from pinnace.framework.tracebacks import (
    is_traceback_filtering_enabled as is_traceback_filtering_enabled,
)
from pinnace.keras.dtype_policy import dtype_policy as dtype_policy
from pinnace.keras.dtype_policy import epsilon as epsilon
from pinnace.keras.dtype_policy import floatx as floatx
from pinnace.keras.dtype_policy import set_dtype_policy as set_dtype_policy
from pinnace.keras.dtype_policy import set_epsilon as set_epsilon
from pinnace.keras.dtype_policy import set_floatx as set_floatx
from pinnace.keras.image_format import image_data_format as image_data_format
from pinnace.keras.image_format import set_image_data_format as set_image_data_format
from pinnace.keras.messages import disable_interactive_logging as disable_interactive_logging
from pinnace.keras.messages import enable_interactive_logging as enable_interactive_logging
from pinnace.keras.messages import (
    is_interactive_logging_enabled as is_interactive_logging_enabled,
)
from pinnace.keras.training.limits import max_epochs as max_epochs
from pinnace.keras.training.limits import max_steps_per_epoch as max_steps_per_epoch
from pinnace.keras.training.limits import set_max_epochs as set_max_epochs
from pinnace.keras.training.limits import set_max_steps_per_epoch as set_max_steps_per_epoch

_ONE_WAY = "attention is computed in one way"


def backend() -> str:
    """`tensorflow`, since programs that ask want to use its API."""
    return "tensorflow"


def set_backend(backend: str) -> None:
    """Accept `tensorflow`, whose API programs see.

    Args:
        backend: the name of one of Keras' backends.

    Raises:
        ValueError: the backend is another one.
    """
    if backend != "tensorflow":
        raise ValueError(
            f"set_backend: backend must be 'tensorflow', got {backend!r}: it computes with its own "
            "ops, which have TensorFlow's names"
        )


def enable_flash_attention() -> None:
    """Has no effect, and warns about it."""
    no_effect("enable_flash_attention", "the call", _ONE_WAY)


def disable_flash_attention() -> None:
    """Has no effect: there is no flash attention to disable."""


def is_flash_attention_enabled() -> bool:
    """False: there is a single implementation of attention."""
    return False


def is_nnx_enabled() -> bool:
    """False: it concerns Keras' JAX backend."""
    return False


def enable_unsafe_deserialization() -> None:
    """Has no effect, and warns about it: code in files is never run."""
    no_effect(
        "enable_unsafe_deserialization",
        "the call",
        "a lambda in a file is bytecode, which is never run; custom_objects may name a function",
    )
