"""`tf.strings`: joining, splitting, patterns, conversion, hashing."""

# A family's `__all__` is its public names: star imports are the index.

import importlib
from typing import TYPE_CHECKING, Any

from pinnace.ops.strings import rows as rows
from pinnace.ops.strings import splitting as splitting
from pinnace.ops.strings.conversion import *
from pinnace.ops.strings.encoding import *
from pinnace.ops.strings.hashing import *
from pinnace.ops.strings.joining import *
from pinnace.ops.strings.patterns import *
from pinnace.ops.strings.pieces import *
from pinnace.ops.strings.scripts import *
from pinnace.ops.strings.templates import *

if TYPE_CHECKING:
    from pinnace.ops.composites.strings import bytes_split as bytes_split
    from pinnace.ops.composites.strings import ngrams as ngrams
    from pinnace.ops.composites.strings import split as split
    from pinnace.ops.composites.strings import unicode_decode as unicode_decode
    from pinnace.ops.composites.strings import (
        unicode_decode_with_offsets as unicode_decode_with_offsets,
    )
    from pinnace.ops.composites.strings import unicode_encode as unicode_encode
    from pinnace.ops.composites.strings import unicode_split as unicode_split
    from pinnace.ops.composites.strings import (
        unicode_split_with_offsets as unicode_split_with_offsets,
    )

# These return ragged tensors, which are defined in a higher layer: resolved on first use.
_ELSEWHERE = frozenset(
    {
        "bytes_split",
        "ngrams",
        "split",
        "unicode_decode",
        "unicode_decode_with_offsets",
        "unicode_encode",
        "unicode_split",
        "unicode_split_with_offsets",
    }
)

if not TYPE_CHECKING:  # a checker that saw this would let every typo pass

    def __getattr__(name: str) -> Any:
        if name not in _ELSEWHERE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module("pinnace.ops.composites.strings"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_ELSEWHERE})
