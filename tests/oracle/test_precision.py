"""Mixed precision against Keras: the same weights, three steps of training, the same loss scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from oracle import ours
from oracle.programs import precision
from oracle.test_models import ask

if TYPE_CHECKING:
    from oracle.peer import Peer

SHAPES = {"dense": (12, 6), "conv": (12, 6, 6, 2), "lstm": (12, 5, 4), "normalized": (12, 6)}
# Half an ulp of 1 for each of the three steps: float16 sums have another order.
NEAR = {"mixed_float16": 3 * 2.0**-11, "mixed_bfloat16": 3 * 2.0**-8}


@pytest.mark.parametrize("policy", NEAR)
@pytest.mark.parametrize("kind", SHAPES)
def test_training_in_mixed_precision_gives_keras_numbers(
    kind: str, policy: str, peer: Peer
) -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal(SHAPES[kind]).astype(np.float32)
    y = rng.integers(0, 3, len(x))
    numbers = (0.4 * rng.standard_normal(500)).astype(np.float32)
    texts = [np.array(text.encode(), object) for text in (policy, kind)]
    theirs = ask(peer, ["precision", "trained"], [*texts, x, y, numbers])
    here, _ = ours.run_program(precision.trained, [*texts, x, y, numbers])
    assert len(here) == len(theirs)
    for a, b in zip(here, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=NEAR[policy])


@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_loss_scale_follows_the_gradients_as_keras_does(peer: Peer) -> None:
    gradients: Any = [[8, 8], [np.inf, 0], [4, 4], [4, 4], [8, 8], [np.nan, 1], [1, 1]]
    inputs = [np.array(gradients, np.float32)]
    theirs = ask(peer, ["precision", "scaled"], inputs)
    here, _ = ours.run_program(precision.scaled, inputs)
    np.testing.assert_array_equal(
        np.concatenate([*map(np.ravel, here)]), np.concatenate([*map(np.ravel, theirs)])
    )
