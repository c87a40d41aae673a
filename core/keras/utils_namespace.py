"""The names of `keras.utils`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pinnace.keras.backend.values import standardize_dtype as standardize_dtype
from pinnace.keras.callbacks.progbar import Progbar as Progbar
from pinnace.keras.encoding import normalize as normalize
from pinnace.keras.encoding import to_categorical as to_categorical
from pinnace.keras.folders import image_dataset_from_directory as image_dataset_from_directory
from pinnace.keras.folders import text_dataset_from_directory as text_dataset_from_directory
from pinnace.keras.legacy import saving as _legacy_saving
from pinnace.keras.messages import disable_interactive_logging as disable_interactive_logging
from pinnace.keras.messages import enable_interactive_logging as enable_interactive_logging
from pinnace.keras.messages import (
    is_interactive_logging_enabled as is_interactive_logging_enabled,
)
from pinnace.keras.names import clear_session as clear_session
from pinnace.keras.pictures import array_to_img as array_to_img
from pinnace.keras.pictures import img_to_array as img_to_array
from pinnace.keras.pictures import load_img as load_img
from pinnace.keras.pictures import save_img as save_img
from pinnace.keras.py_dataset import PyDataset as PyDataset
from pinnace.keras.registry import custom_object_scope as custom_object_scope
from pinnace.keras.registry import deserialize_keras_object as deserialize_keras_object
from pinnace.keras.registry import get_custom_objects as get_custom_objects
from pinnace.keras.registry import get_registered_name as get_registered_name
from pinnace.keras.registry import get_registered_object as get_registered_object
from pinnace.keras.registry import register_keras_serializable as register_keras_serializable
from pinnace.keras.registry import serialize_keras_object as serialize_keras_object
from pinnace.keras.seeds import set_random_seed as set_random_seed
from pinnace.keras.sequences import pad_sequences as pad_sequences
from pinnace.keras.sequences import timeseries_dataset_from_array as timeseries_dataset_from_array
from pinnace.keras.symbolic import get_source_inputs as get_source_inputs
from pinnace.keras.symbolic import is_keras_tensor as is_keras_tensor
from pinnace.keras.training.data_adapter import pack_x_y_sample_weight as pack_x_y_sample_weight
from pinnace.keras.training.data_adapter import unpack_x_y_sample_weight as unpack_x_y_sample_weight

if TYPE_CHECKING:
    from pinnace.keras.audio_folders import (
        audio_dataset_from_directory as audio_dataset_from_directory,
    )
    from pinnace.keras.downloads import get_file as get_file
    from pinnace.keras.drawing.plotting import model_to_dot as model_to_dot
    from pinnace.keras.drawing.plotting import plot_model as plot_model
    from pinnace.keras.feature_space import FeatureSpace as FeatureSpace
    from pinnace.keras.named_values import Config as Config
    from pinnace.keras.splitting import split_dataset as split_dataset

# Older names.
Sequence = PyDataset
CustomObjectScope = custom_object_scope
legacy = _legacy_saving
# They need archives, connections, other processes, sounds and Datasets, which most programs do not.
_LATE = {
    "Config": "pinnace.keras.named_values",
    "FeatureSpace": "pinnace.keras.feature_space",
    "audio_dataset_from_directory": "pinnace.keras.audio_folders",
    "get_file": "pinnace.keras.downloads",
    "model_to_dot": "pinnace.keras.drawing.plotting",
    "plot_model": "pinnace.keras.drawing.plotting",
    "split_dataset": "pinnace.keras.splitting",
}


if not TYPE_CHECKING:  # a checker that saw this would let every typo pass

    def __getattr__(name: str) -> Any:
        if name not in _LATE:
            raise AttributeError(f"module 'pinnace.keras.utils' has no attribute {name!r}")
        return getattr(importlib.import_module(_LATE[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE})
