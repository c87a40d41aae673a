"""Names that a SavedModel folder and its messages use, under TensorFlow's names for them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pinnace.saved_model import layout
from pinnace.saved_model.layout import ASSETS_FOLDER as ASSETS_DIRECTORY
from pinnace.saved_model.layout import DEFAULT_SIGNATURE as DEFAULT_SERVING_SIGNATURE_DEF_KEY
from pinnace.saved_model.layout import MODEL_FILE as SAVED_MODEL_FILENAME_PB
from pinnace.saved_model.layout import MODEL_TEXT_FILE as SAVED_MODEL_FILENAME_PBTXT
from pinnace.saved_model.layout import SCHEMA_VERSION as SAVED_MODEL_SCHEMA_VERSION
from pinnace.saved_model.layout import SERVE as SERVING

if TYPE_CHECKING:
    import os

__all__ = [
    "ASSETS_DIRECTORY",
    "ASSETS_KEY",
    "CLASSIFY_INPUTS",
    "CLASSIFY_METHOD_NAME",
    "CLASSIFY_OUTPUT_CLASSES",
    "CLASSIFY_OUTPUT_SCORES",
    "DEBUG_DIRECTORY",
    "DEBUG_INFO_FILENAME_PB",
    "DEFAULT_SERVING_SIGNATURE_DEF_KEY",
    "GPU",
    "PREDICT_INPUTS",
    "PREDICT_METHOD_NAME",
    "PREDICT_OUTPUTS",
    "REGRESS_INPUTS",
    "REGRESS_METHOD_NAME",
    "REGRESS_OUTPUTS",
    "SAVED_MODEL_FILENAME_PB",
    "SAVED_MODEL_FILENAME_PBTXT",
    "SAVED_MODEL_SCHEMA_VERSION",
    "SERVING",
    "TPU",
    "TRAINING",
    "VARIABLES_DIRECTORY",
    "VARIABLES_FILENAME",
    "contains_saved_model",
]

ASSETS_KEY = "saved_model_assets"
CLASSIFY_INPUTS = "inputs"
CLASSIFY_METHOD_NAME = "tensorflow/serving/classify"
CLASSIFY_OUTPUT_CLASSES = "classes"
CLASSIFY_OUTPUT_SCORES = "scores"
DEBUG_DIRECTORY = "debug"
DEBUG_INFO_FILENAME_PB = "saved_model_debug_info.pb"
GPU = "gpu"
PREDICT_INPUTS = "inputs"
PREDICT_METHOD_NAME = "tensorflow/serving/predict"
PREDICT_OUTPUTS = "outputs"
REGRESS_INPUTS = "inputs"
REGRESS_METHOD_NAME = "tensorflow/serving/regress"
REGRESS_OUTPUTS = "outputs"
TPU = "tpu"
TRAINING = "train"
VARIABLES_DIRECTORY = "variables"
VARIABLES_FILENAME = "variables"


def contains_saved_model(export_dir: str | os.PathLike[str]) -> bool:
    """Whether the folder is a SavedModel: it has saved_model.pb or saved_model.pbtxt."""
    file = layout.model_path(Path(export_dir))
    return file.is_file() or file.with_name(layout.MODEL_TEXT_FILE).is_file()
