"""CenterCrop and Resizing with masks, compared with Keras."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from oracle import ours
from oracle.programs import followed
from oracle.test_models import ask

if TYPE_CHECKING:
    from oracle.peer import Peer

SIZES = [(8, 8), (6, 11), (12, 5), (3, 9), (4, 4)]


@pytest.mark.parametrize("kind", ["cropped", "stretched", "padded", "cut"])
def test_masks_go_where_the_pictures_go(kind: str, peer: Peer) -> None:
    rng = np.random.default_rng(1)
    for rows, columns in SIZES:
        images = rng.uniform(0, 1, (2, rows, columns, 3)).astype(np.float32)
        masks = (rng.uniform(0, 1, (2, rows, columns, 1)) > 0.5).astype(np.float32)
        given = [np.array(kind.encode(), object), images, masks]
        theirs = ask(peer, ["followed", "changed"], given)
        here, _ = ours.run_program(followed.changed, given)
        assert len(here) == len(theirs)
        for a, b in zip(here, theirs, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=2e-5)
