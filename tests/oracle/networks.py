"""Compares a network with Keras': its structure, and its outputs with Keras' weights."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import pinnace as tf
from oracle import comparing
from oracle.programs import applications

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from oracle.peer import Peer

# Keras takes seconds to build and write the largest.
ANSWER_S = 300.0
# Relative to the largest output: float32 sums of up to 25000 products in another order, through up
# to 200 layers.
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Case:
    """A network that both sides build.

    Attributes:
        maker: name of the function.
        keywords: its arguments besides weights, in a form for JSON; `input_tensor` is the shape of
            an Input, which is scaled first.
        ending: extension of the file that transfers weights from Keras: `.weights.h5`, `.keras`,
            `whole.h5`, `.h5` (weights alone, as Keras 2 writes them). Empty compares no outputs.
        size: height and width of the images.
        largest: the images have values from minus this to this.
    """

    maker: str
    keywords: dict[str, Any] = field(default_factory=dict)
    ending: str = ".weights.h5"
    size: int = 32
    largest: float = 1.0

    def __str__(self) -> str:
        told = "-".join(f"{name}={value}" for name, value in self.keywords.items())
        return f"{self.maker}-{told}-{self.ending or 'structure'}".replace(" ", "")

    def pictures(self) -> Any:
        """Two images."""
        shape = self.keywords.get("input_shape") or self.keywords.get("input_tensor")
        channels = shape[-1] if shape else 3
        rng = np.random.default_rng(3)
        sizes = (2, self.size, self.size, channels)
        return rng.uniform(-self.largest, self.largest, sizes).astype(np.float32)


def compare(case: Case, peer: Peer, folder: Path) -> None:
    """Fail if the network here has another structure or other outputs than Keras'."""
    path = str(folder / f"file{case.ending}") if case.ending else ""
    x = case.pictures()
    facts, *theirs = ask(peer, "network", case.maker, json.dumps(case.keywords), path, x)
    tf.keras.utils.clear_session()
    keywords = {**case.keywords, "weights": path} if path else case.keywords
    model = applications.made(tf, case.maker, keywords)
    differ(json.loads(facts.item()), applications.facts_of(model, model._layers))
    if path:
        exact = partial(exactly, case.maker, keywords, x)
        close(theirs[0], model(x, training=False).numpy(), exact)


def exactly(maker: str, keywords: dict[str, Any], x: Any) -> Any:
    """The outputs of a network with these weights in float64."""
    tf.keras.config.set_floatx("float64")
    try:
        return applications.made(tf, maker, keywords)(x.astype(np.float64), training=False).numpy()
    finally:
        tf.keras.config.set_floatx("float32")


def ask(peer: Peer, program: str, *inputs: Any) -> list[Any]:
    """The result of a program of Keras' side; texts become tensors."""
    given = [np.array(one.encode(), object) if isinstance(one, str) else one for one in inputs]
    peer.send([{"program": ["applications", program], "inputs": given}])
    (theirs,) = peer.receive(ANSWER_S)
    assert not comparing.failed(theirs), theirs
    return list(theirs["values"])


def differ(theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    """Fail with the first layer that differs."""
    for place, (a, b) in enumerate(zip(theirs["layers"], ours["layers"], strict=False)):
        assert a == b, f"layer {place}: Keras' {a}, here {b}"
    assert theirs == ours


def close(theirs: Any, ours: Any, exact: Callable[[], Any] | None = None) -> None:
    """Fail if outputs are not those of Keras.

    A deep network with random weights may amplify rounding beyond `TOLERANCE`, on both sides. Then
    float64 decides: our error must be at most twice that of Keras.
    """
    assert theirs.shape == ours.shape
    assert np.isfinite(theirs).all()
    largest = np.abs(theirs).max()
    assert largest > 0
    worst = np.abs(theirs - ours).max() / largest
    if worst <= TOLERANCE:
        return
    told = f"differs by {worst:.2e} of the largest, {largest}"
    assert exact is not None, told
    wanted = exact()
    assert wanted.dtype == np.float64
    error, their_error = (np.abs(found - wanted).max() / largest for found in (ours, theirs))
    told += f"; from float64 by {error:.2e}, Keras by {their_error:.2e}"
    assert error <= 2 * max(their_error, TOLERANCE), told
