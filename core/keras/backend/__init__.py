"""`keras.backend`: settings, and functions of tensors for losses of older programs."""

from pinnace.framework.context import name_scope as name_scope
from pinnace.keras.backend.batches import *
from pinnace.keras.backend.convolving import *
from pinnace.keras.backend.losses import binary_crossentropy as binary_crossentropy
from pinnace.keras.backend.losses import binary_focal_crossentropy as binary_focal_crossentropy
from pinnace.keras.backend.losses import categorical_crossentropy as categorical_crossentropy
from pinnace.keras.backend.losses import (
    categorical_focal_crossentropy as categorical_focal_crossentropy,
)
from pinnace.keras.backend.losses import (
    sparse_categorical_crossentropy as sparse_categorical_crossentropy,
)
from pinnace.keras.backend.named import *
from pinnace.keras.backend.normalizing import *
from pinnace.keras.backend.recurring import *
from pinnace.keras.backend.shaping import *
from pinnace.keras.backend.sparse import *
from pinnace.keras.backend.speech import *
from pinnace.keras.backend.tensors import *
from pinnace.keras.backend.values import *
from pinnace.keras.config import backend as backend
from pinnace.keras.config import image_data_format as image_data_format
from pinnace.keras.config import set_image_data_format as set_image_data_format
from pinnace.keras.dtype_policy import epsilon as epsilon
from pinnace.keras.dtype_policy import floatx as floatx
from pinnace.keras.dtype_policy import set_epsilon as set_epsilon
from pinnace.keras.dtype_policy import set_floatx as set_floatx
from pinnace.keras.names import clear_session as clear_session
from pinnace.keras.names import get_uid as get_uid
from pinnace.keras.result_types import result_type as result_type
