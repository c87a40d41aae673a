"""The use of a `model.tflite` in a version's folder."""

from __future__ import annotations

from enum import Enum


class LiteFiles(Enum):
    """When a `model.tflite` in a version's folder is served.

    Attributes:
        ALONE: if there is no SavedModel.
        PREFERRED: even if there is a SavedModel: `--prefer_tflite_model`.
        REQUIRED: always, and nothing else is served: `--use_tflite_model`.
    """

    ALONE = "alone"
    PREFERRED = "preferred"
    REQUIRED = "required"
