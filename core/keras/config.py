"""`keras.config`: default dtype, dtype policy, epsilon, limits, and where messages go."""

from __future__ import annotations

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
from pinnace.keras.messages import disable_interactive_logging as disable_interactive_logging
from pinnace.keras.messages import enable_interactive_logging as enable_interactive_logging
from pinnace.keras.messages import (
    is_interactive_logging_enabled as is_interactive_logging_enabled,
)
from pinnace.keras.training.limits import max_epochs as max_epochs
from pinnace.keras.training.limits import max_steps_per_epoch as max_steps_per_epoch
from pinnace.keras.training.limits import set_max_epochs as set_max_epochs
from pinnace.keras.training.limits import set_max_steps_per_epoch as set_max_steps_per_epoch


def backend() -> str:
    """`tensorflow`: programs that ask want its API."""
    return "tensorflow"


def image_data_format() -> str:
    """`channels_last`."""
    return "channels_last"
