"""Calls of the candidate samplers and of the losses that use them."""

from typing import Any

import numpy as np

from golden.functions.calls import Call, waves

NEAR: dict[str, Any] = {"rtol": 2e-5, "atol": 2e-5, "reason": "float32"}
TRUE = np.array([[0, 5], [7, 2], [3, 3]])
WEIGHTS, BIASES = waves(9, 4, dtype="float32"), waves(9, phase=1.0, dtype="float32")
INPUTS = waves(3, 4, phase=2.0, dtype="float32")
DRAWN = (
    np.array([5, 8, 3, 1]),
    np.abs(waves(3, 2, dtype="float32")) + np.float32(0.1),
    np.abs(waves(4, dtype="float32")) + np.float32(0.1),
)


def samplers() -> list[Call]:
    found = []
    for name in ("uniform", "log_uniform", "learned_unigram"):
        for unique, size in ((True, 9), (True, 16), (False, 11), (False, 1000)):
            args = (TRUE, 2, 6, unique, size)
            # No other call has this seed, since it would continue the same stream.
            options = {"seed": 100 + size}
            found.append(Call(f"random.{name}_candidate_sampler", args, options, **NEAR))
    for unique, options in (
        (True, {}),
        (False, {"distortion": 0.5}),
        (False, {"num_reserved_ids": 2, "unigrams": [3.0, 1.0, 0.5, 4.0, 1.5, 2.0, 2.5]}),
    ):
        given = {"unigrams": [1.0, 3.0, 0.5, 4.0, 2.0, 1.0, 1.5, 0.1, 2.0], "seed": 7, **options}
        args = (TRUE, 2, 5, unique, 9)
        found.append(Call("random.fixed_unigram_candidate_sampler", args, given, **NEAR))
    found.append(Call("random.all_candidate_sampler", (TRUE, 2, 9, True)))
    found.append(Call("nn.compute_accidental_hits", (TRUE, np.array([3, 1, 5, 0, 8]), 2)))
    return found


def losses() -> list[Call]:
    return [
        Call(
            f"nn.{name}",
            (WEIGHTS, BIASES, TRUE, INPUTS, 4, 9, 2, DRAWN, removed),
            {},
            (3,),
            **NEAR,
        )
        for name in ("nce_loss", "sampled_softmax_loss")
        for removed in (True, False)
    ]


CALLS = [*samplers(), *losses()]
