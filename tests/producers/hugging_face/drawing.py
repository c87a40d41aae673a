"""Random inputs of the models: tokens, masks, boxes, images and audio, by the input's name."""

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

WORDS, LENGTH, ROWS, CHOICES = 97, 7, 3, 2
SPECIAL = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
# Token ids below are special ones.
FIRST = 8
Rng = np.random.Generator
Sizes = tuple[int, ...]


def generator_of(name: str) -> Rng:
    """A generator by the model's name: its inputs do not depend on other models."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def sizes_of(shape: Any, length: int) -> Sizes:
    """Sizes for the unknown axes of a signature: rows, choices or positions, positions."""
    known = list(shape)
    for axis, size in enumerate(known):
        if size is None:
            positions = axis + 1 == len(known) or known[axis + 1] is not None
            known[axis] = ROWS if axis == 0 else length if positions else CHOICES
    return tuple(known)


def words(rng: Rng, shape: Sizes, hidden: Any) -> Any:
    return np.where(hidden, SPECIAL["pad_token_id"], rng.integers(FIRST, WORDS, shape))


def mask(rng: Rng, shape: Sizes, hidden: Any) -> Any:
    del rng, shape
    return ~hidden


def two_kinds(rng: Rng, shape: Sizes, hidden: Any) -> Any:
    del hidden
    return rng.integers(0, 2, shape)


def boxes(rng: Rng, shape: Sizes, hidden: Any) -> Any:
    """Boxes on a page of 1000 by 1000: left, top, right, bottom."""
    del hidden
    return np.sort(rng.integers(0, 1000, (*shape[:2], 2, 2)), axis=2).reshape(shape)


def last_position(rng: Rng, shape: Sizes, hidden: Any) -> Any:
    del rng, hidden
    return np.broadcast_to(np.arange(shape[-1]) == shape[-1] - 1, shape)


WAYS: dict[str, Callable[[Rng, Sizes, Any], Any]] = {
    "input_ids": words,
    "context_input_ids": words,
    "decoder_input_ids": lambda rng, shape, hidden: words(rng, shape, np.zeros_like(hidden)),
    "attention_mask": mask,
    "context_attention_mask": mask,
    "image_attention_mask": mask,
    "visual_attention_mask": mask,
    "decoder_attention_mask": lambda rng, shape, hidden: mask(rng, shape, np.zeros_like(hidden)),
    "global_attention_mask": last_position,
    "token_type_ids": two_kinds,
    "langs": two_kinds,
    "input_labels": two_kinds,
    "mc_token_ids": lambda rng, shape, _: rng.integers(2, LENGTH, shape),
    "bbox": boxes,
    "visual_pos": lambda rng, shape, _: rng.random(shape),
    "noise": lambda rng, shape, _: rng.random(shape),
    "input_points": lambda rng, shape, _: rng.uniform(0, 30, shape),
    **dict.fromkeys(
        ("doc_scores", "input_features", "input_values", "pixel_values", "visual_feats"),
        lambda rng, shape, _: rng.standard_normal(shape),
    ),
}


def drawn(rng: Rng, key: str, dtype: Any, shape: Sizes, *, ends: bool = False) -> Any:
    """Values for one input; two positions of the second row are padding.

    Padding is on the left, as for decoders; with `ends`, on the right, as for audio.
    """
    hidden = np.zeros(shape, bool)
    if len(shape) > 1 and shape[0] > 1:
        hidden[1, ..., slice(-shape[-1] // 4, None) if ends else slice(2)] = True
    return WAYS[key](rng, shape, hidden).astype(dtype)
