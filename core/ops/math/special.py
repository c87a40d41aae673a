"""The names of `tf.math.special`, imported on demand."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pinnace.ops.math.bessel import bessel_j0 as bessel_j0
    from pinnace.ops.math.bessel import bessel_j1 as bessel_j1
    from pinnace.ops.math.bessel import bessel_k0 as bessel_k0
    from pinnace.ops.math.bessel import bessel_k0e as bessel_k0e
    from pinnace.ops.math.bessel import bessel_k1 as bessel_k1
    from pinnace.ops.math.bessel import bessel_k1e as bessel_k1e
    from pinnace.ops.math.bessel import bessel_y0 as bessel_y0
    from pinnace.ops.math.bessel import bessel_y1 as bessel_y1
    from pinnace.ops.math.integrals import dawsn as dawsn
    from pinnace.ops.math.integrals import expint as expint
    from pinnace.ops.math.integrals import fresnel_cos as fresnel_cos
    from pinnace.ops.math.integrals import fresnel_sin as fresnel_sin
    from pinnace.ops.math.integrals import spence as spence
    from pinnace.ops.math.tails import bessel_i0 as bessel_i0
    from pinnace.ops.math.tails import bessel_i0e as bessel_i0e
    from pinnace.ops.math.tails import bessel_i1 as bessel_i1
    from pinnace.ops.math.tails import bessel_i1e as bessel_i1e

_FAMILIES = {
    "bessel": [f"bessel_{kind}" for kind in ("j0", "j1", "k0", "k0e", "k1", "k1e", "y0", "y1")],
    "integrals": ["dawsn", "expint", "fresnel_cos", "fresnel_sin", "spence"],
    "tails": [f"bessel_{kind}" for kind in ("i0", "i0e", "i1", "i1e")],
}
_HOMES = {name: family for family, names in _FAMILIES.items() for name in names}


if not TYPE_CHECKING:  # a checker that saw this would let every typo pass

    def __getattr__(name: str) -> Any:
        family = _HOMES.get(name)
        if family is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"pinnace.ops.math.{family}"), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
