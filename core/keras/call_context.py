"""The context that nested calls of layers inherit: `training`, and whose losses to clear."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from pinnace.framework.context import carried

if TYPE_CHECKING:
    from pinnace.keras.layer import Layer
    from pinnace.keras.rematerialisation import RematScope


class CallContext(threading.local):
    """The calls that a thread is in. Class attributes are each new thread's defaults."""

    # The outermost layer that is being called.
    entry: Layer | None = None
    # The `training` argument of the innermost call that has one; None if none has.
    training: bool | None = None
    # Whether a model is being written for serving, without its optimizer.
    exporting: bool = False
    # Whether only shapes and dtypes of outputs are inferred: what `adapt` will find may be missing.
    inferring_specs: bool = False
    # The rematerialisation scope in which layers are created.
    remat: RematScope | None = None


calls = CallContext()
carried(calls)
