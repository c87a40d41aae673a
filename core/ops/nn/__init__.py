"""Ops of neural networks: activations, convolutions, pooling, normalization, losses."""

# A package's names are those of its families; TensorFlow has some of others here too.

import importlib
from typing import TYPE_CHECKING, Any

from pinnace.ops.array.sorting import top_k as top_k
from pinnace.ops.array.space_depth import depth_to_space as depth_to_space
from pinnace.ops.array.space_depth import space_to_batch as space_to_batch
from pinnace.ops.array.space_depth import space_to_depth as space_to_depth
from pinnace.ops.math.counting import in_top_k as in_top_k
from pinnace.ops.math.exponents import sigmoid as sigmoid
from pinnace.ops.math.statistics import zero_fraction as zero_fraction
from pinnace.ops.math.trigonometry import tanh as tanh
from pinnace.ops.nn import ctc as _ctc  # noqa: F401 (registers its ops)
from pinnace.ops.nn import experimental as experimental
from pinnace.ops.nn.batch_norm import *
from pinnace.ops.nn.biases import *
from pinnace.ops.nn.convolutions import *
from pinnace.ops.nn.depthwise import *
from pinnace.ops.nn.dropouts import *
from pinnace.ops.nn.embedding import *
from pinnace.ops.nn.fused import *
from pinnace.ops.nn.isotonic import *
from pinnace.ops.nn.local_response import *
from pinnace.ops.nn.losses import *
from pinnace.ops.nn.morphology import *
from pinnace.ops.nn.nearest import *
from pinnace.ops.nn.normalization import *
from pinnace.ops.nn.pooling import *
from pinnace.ops.nn.rectifiers import *
from pinnace.ops.nn.sampling import *
from pinnace.ops.nn.smooth import *
from pinnace.ops.nn.softmaxes import *
from pinnace.ops.random.candidates import *
from pinnace.ops.random.candidates import compute_accidental_hits as compute_accidental_hits

if TYPE_CHECKING:
    from pinnace.ops.composites.ctc import collapse_repeated as collapse_repeated
    from pinnace.ops.composites.ctc import ctc_beam_search_decoder as ctc_beam_search_decoder
    from pinnace.ops.composites.ctc import ctc_greedy_decoder as ctc_greedy_decoder
    from pinnace.ops.composites.ctc import ctc_loss as ctc_loss
    from pinnace.ops.composites.ctc import ctc_unique_labels as ctc_unique_labels
    from pinnace.ops.composites.embedding import embedding_lookup_sparse as embedding_lookup_sparse
    from pinnace.ops.composites.embedding import (
        safe_embedding_lookup_sparse as safe_embedding_lookup_sparse,
    )
    from pinnace.ops.nn.dilated import with_space_to_batch as with_space_to_batch
    from pinnace.ops.nn.pooling.fractional import fractional_avg_pool as fractional_avg_pool
    from pinnace.ops.nn.pooling.fractional import fractional_max_pool as fractional_max_pool

# Rarely used functions, and those of sparse and ragged tensors, which are defined in a higher
# layer: resolved on first use.
_ELSEWHERE = {
    "collapse_repeated": "pinnace.ops.composites.ctc",
    "ctc_beam_search_decoder": "pinnace.ops.composites.ctc",
    "ctc_greedy_decoder": "pinnace.ops.composites.ctc",
    "ctc_loss": "pinnace.ops.composites.ctc",
    "ctc_unique_labels": "pinnace.ops.composites.ctc",
    "embedding_lookup_sparse": "pinnace.ops.composites.embedding",
    "fractional_avg_pool": "pinnace.ops.nn.pooling.fractional",
    "fractional_max_pool": "pinnace.ops.nn.pooling.fractional",
    "with_space_to_batch": "pinnace.ops.nn.dilated",
    "safe_embedding_lookup_sparse": "pinnace.ops.composites.embedding",
}


if not TYPE_CHECKING:  # a checker that saw this would let every typo pass

    def __getattr__(name: str) -> Any:
        if name not in _ELSEWHERE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(_ELSEWHERE[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_ELSEWHERE})
