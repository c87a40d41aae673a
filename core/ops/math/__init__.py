"""`tf.math`: mathematics, elementwise and over axes."""

# A package's names are those of its families; TensorFlow has some names of other families here too.

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pinnace.ops.math import bits as bits
from pinnace.ops.math import clipping as clipping
from pinnace.ops.math import einstein as einstein
from pinnace.ops.math import histograms as histograms
from pinnace.ops.math import products as products
from pinnace.ops.math import ranges as ranges
from pinnace.ops.math import special as special
from pinnace.ops.math.arithmetic import *
from pinnace.ops.math.comparison import *
from pinnace.ops.math.complexes import *
from pinnace.ops.math.counting import *
from pinnace.ops.math.cumulation import *
from pinnace.ops.math.division import *
from pinnace.ops.math.error_and_gamma import *
from pinnace.ops.math.exponents import *
from pinnace.ops.math.extremes import *
from pinnace.ops.math.logic import *
from pinnace.ops.math.polar import *
from pinnace.ops.math.reduction import *
from pinnace.ops.math.rounding import *
from pinnace.ops.math.segments import *
from pinnace.ops.math.statistics import *
from pinnace.ops.math.tails import *
from pinnace.ops.math.trigonometry import *

if TYPE_CHECKING:
    from pinnace.ops.array.permutations import invert_permutation as invert_permutation
    from pinnace.ops.array.sorting import top_k as top_k
    from pinnace.ops.math.sobol import sobol_sample as sobol_sample
    from pinnace.ops.nn.nearest import approx_max_k as approx_max_k
    from pinnace.ops.nn.nearest import approx_min_k as approx_min_k
    from pinnace.ops.nn.normalization import l2_normalize as l2_normalize
    from pinnace.ops.nn.smooth import log_sigmoid as log_sigmoid
    from pinnace.ops.nn.smooth import softplus as softplus
    from pinnace.ops.nn.smooth import softsign as softsign
    from pinnace.ops.nn.softmaxes import log_softmax as log_softmax
    from pinnace.ops.nn.softmaxes import softmax as softmax

# These families import this package: their names are resolved on first use.
_ELSEWHERE = {
    "approx_max_k": "pinnace.ops.nn.nearest",
    "approx_min_k": "pinnace.ops.nn.nearest",
    "invert_permutation": "pinnace.ops.array.permutations",
    "l2_normalize": "pinnace.ops.nn.normalization",
    "log_sigmoid": "pinnace.ops.nn.smooth",
    "log_softmax": "pinnace.ops.nn.softmaxes",
    "softmax": "pinnace.ops.nn.softmaxes",
    "softplus": "pinnace.ops.nn.smooth",
    "sobol_sample": "pinnace.ops.math.sobol",
    "softsign": "pinnace.ops.nn.smooth",
    "top_k": "pinnace.ops.array.sorting",
}


if not TYPE_CHECKING:  # a checker that saw this would let every typo pass

    def __getattr__(name: str) -> Any:
        module = _ELSEWHERE.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_ELSEWHERE})
