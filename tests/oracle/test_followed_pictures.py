"""CenterCrop and Resizing with boxes and masks, beside Keras."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from oracle import ours
from oracle.programs import followed
from oracle.test_models import ask

if TYPE_CHECKING:
    from oracle.peer import Peer
    from pinnace.framework.tensor import Array

SIZES = [(8, 8), (6, 11), (12, 5), (3, 9), (4, 4)]


def boxes_in(rng: np.random.Generator, form: str, rows: int, columns: int) -> Array:
    """Two pictures' boxes, [2, 3, 4]: the last of each stands for none."""
    x, y = (np.sort(rng.uniform(0, 1, (2, 3, 2)), -1) for _ in range(2))
    left, right, top, bottom = x[..., 0], x[..., 1], y[..., 0], y[..., 1]
    if not form.startswith("rel"):
        left, right, top, bottom = left * columns, right * columns, top * rows, bottom * rows
    parts = {
        "xyxy": [left, top, right, bottom],
        "rel_xyxy": [left, top, right, bottom],
        "yxyx": [top, left, bottom, right],
        "xywh": [left, top, right - left, bottom - top],
        "center_xywh": [(left + right) / 2, (top + bottom) / 2, right - left, bottom - top],
    }
    found = np.stack(parts[form], -1).astype(np.float32)
    found[:, -1] = -1
    return found


@pytest.mark.parametrize("form", ["xyxy", "yxyx", "xywh", "center_xywh", "rel_xyxy"])
@pytest.mark.parametrize("kind", ["cropped", "stretched", "padded", "cut"])
def test_boxes_and_masks_go_where_the_pictures_go(kind: str, form: str, peer: Peer) -> None:
    rng = np.random.default_rng(1)
    for rows, columns in SIZES:
        images = rng.uniform(0, 1, (2, rows, columns, 3)).astype(np.float32)
        masks = (rng.uniform(0, 1, (2, rows, columns, 1)) > 0.5).astype(np.float32)
        texts = [np.array(text.encode(), object) for text in (kind, form)]
        given = [*texts, images, boxes_in(rng, form, rows, columns), masks]
        theirs = ask(peer, ["followed", "changed"], given)
        here, _ = ours.run_program(followed.changed, given)
        assert len(here) == len(theirs)
        for a, b in zip(here, theirs, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=2e-5)
