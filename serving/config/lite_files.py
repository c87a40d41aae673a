"""What a `model.tflite` beside a SavedModel is for."""

from __future__ import annotations

from enum import Enum


class LiteFiles(Enum):
    """What a `model.tflite` in a version's folder is for.

    Attributes:
        ALONE: it is served where there is no SavedModel.
        PREFERRED: it is served, beside a SavedModel too: `--prefer_tflite_model`.
        REQUIRED: nothing else is served: `--use_tflite_model`.
    """

    ALONE = "alone"
    PREFERRED = "preferred"
    REQUIRED = "required"
