"""Models and weights in Keras' files and TensorFlow's checkpoints."""

from pinnace.keras.registry import custom_object_scope as custom_object_scope
from pinnace.keras.registry import deserialize_keras_object as deserialize_keras_object
from pinnace.keras.registry import get_custom_objects as get_custom_objects
from pinnace.keras.registry import get_registered_name as get_registered_name
from pinnace.keras.registry import get_registered_object as get_registered_object
from pinnace.keras.registry import register_keras_serializable as register_keras_serializable
from pinnace.keras.registry import serialize_keras_object as serialize_keras_object
from pinnace.keras.saving.whole_models import load_model as load_model
from pinnace.keras.saving.whole_models import load_weights as load_weights
from pinnace.keras.saving.whole_models import save_model as save_model
from pinnace.keras.saving.whole_models import save_weights as save_weights
