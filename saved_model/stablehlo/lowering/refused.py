"""Ops that have no translation, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from pinnace.saved_model.stablehlo.lowering.registry import Call, lowers

if TYPE_CHECKING:
    from pinnace.saved_model.stablehlo.lowering.registry import Lowering

_DEVICES = "it passes values between devices, of which there is one"
_HOST = "it passes values to or from another program while it runs"
_TOKENS = "it orders effects, which modules of one program on one device do not have"
_QUANTISED = "quantised types are not computed with"
_TUPLES = "tuples are not written by exports of today"
REFUSED = {
    **dict.fromkeys(
        (
            *("all_gather", "all_reduce", "all_to_all", "collective_broadcast"),
            *("collective_permute", "collective_reduce", "cross-replica-sum", "reduce_scatter"),
        ),
        _DEVICES,
    ),
    **dict.fromkeys(("infeed", "outfeed", "recv", "send"), _HOST),
    **dict.fromkeys(("after_all", "async_done", "async_start", "create_token"), _TOKENS),
    **dict.fromkeys(("uniform_dequantize", "uniform_quantize"), _QUANTISED),
    **dict.fromkeys(("get_tuple_element", "tuple"), _TUPLES),
    "batch_norm_grad": "exports of today write it as its parts",
    "batch_norm_inference": "exports of today write it as its parts",
    "batch_norm_training": "exports of today write it as its parts",
    "map": "exports of today write its region in its place",
    "rng": "its numbers are those of a device, and no two runs have the same",
}


def _refusal(why: str) -> Lowering:
    def refuse(call: Call) -> NoReturn:
        call.refuse(why)

    return refuse


for _name, _why in REFUSED.items():
    lowers(_name)(_refusal(_why))
