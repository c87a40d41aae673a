"""`keras.config`: default dtype, dtype policy and epsilon."""

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
from pinnace.keras.dtype_policy import set_floatx as set_floatx


def backend() -> str:
    """`tensorflow`: programs that ask want its API."""
    return "tensorflow"


def image_data_format() -> str:
    """`channels_last`."""
    return "channels_last"
