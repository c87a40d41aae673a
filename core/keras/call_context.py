"""The context that a layer's call inherits: `training`, and whose losses to clear."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from pinnace.framework.context import carried

if TYPE_CHECKING:
    from pinnace.keras.layer import Layer
    from pinnace.keras.rematerialisation import RematScope


class CallContext(threading.local):
    """The calls that one thread is in. Class attributes are each new thread's start."""

    # The outermost layer that is being called.
    entry: Layer | None = None
    # What the innermost layer that knows was given; None if none was given any.
    training: bool | None = None
    # Whether a model is being written for serving, without its optimizer.
    exporting: bool = False
    # Whether only shapes and dtypes of outputs are inferred: what `adapt` will find may be missing.
    inferring_specs: bool = False
    # The scope of rematerialisation that layers are made in.
    remat: RematScope | None = None


calls = CallContext()
carried(calls)
