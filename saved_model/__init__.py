"""SavedModels: an object and its functions to a folder and back.

- `saved_model.save(obj, dir, signatures=None, options=None)` walks `obj` with `trackable.walk`.
  Children that are `Variable`s, `Function`s (every concrete function traced so far) and
  containers are written as TensorFlow writes them.
- An object may define `_functions_for_saving() -> dict[str, Function]` (more children: a Keras
  model gives `__call__`) and `_default_signatures() -> dict[str, ConcreteFunction]` (used when
  `signatures` is None: a Keras model gives `serving_default`, traced with `training=False` for
  its input spec, inputs by name, outputs `output_0`, …).
- A signature is a `ConcreteFunction` with `by_name=True`; `saved_model` makes one from whatever
  the caller gave.
- Loading builds `Graph`s lazily from GraphDef and FunctionDefs, `Variable`s whose values are
  mapped from the bundle on first read, and `Function`-like restored functions.
"""

import importlib
from typing import TYPE_CHECKING, Any

from pinnace.saved_model import experimental as experimental
from pinnace.saved_model.assets import Asset as Asset
from pinnace.saved_model.constants import ASSETS_DIRECTORY as ASSETS_DIRECTORY
from pinnace.saved_model.constants import ASSETS_KEY as ASSETS_KEY
from pinnace.saved_model.constants import CLASSIFY_INPUTS as CLASSIFY_INPUTS
from pinnace.saved_model.constants import CLASSIFY_METHOD_NAME as CLASSIFY_METHOD_NAME
from pinnace.saved_model.constants import CLASSIFY_OUTPUT_CLASSES as CLASSIFY_OUTPUT_CLASSES
from pinnace.saved_model.constants import CLASSIFY_OUTPUT_SCORES as CLASSIFY_OUTPUT_SCORES
from pinnace.saved_model.constants import DEBUG_DIRECTORY as DEBUG_DIRECTORY
from pinnace.saved_model.constants import DEBUG_INFO_FILENAME_PB as DEBUG_INFO_FILENAME_PB
from pinnace.saved_model.constants import (
    DEFAULT_SERVING_SIGNATURE_DEF_KEY as DEFAULT_SERVING_SIGNATURE_DEF_KEY,
)
from pinnace.saved_model.constants import GPU as GPU
from pinnace.saved_model.constants import PREDICT_INPUTS as PREDICT_INPUTS
from pinnace.saved_model.constants import PREDICT_METHOD_NAME as PREDICT_METHOD_NAME
from pinnace.saved_model.constants import PREDICT_OUTPUTS as PREDICT_OUTPUTS
from pinnace.saved_model.constants import REGRESS_INPUTS as REGRESS_INPUTS
from pinnace.saved_model.constants import REGRESS_METHOD_NAME as REGRESS_METHOD_NAME
from pinnace.saved_model.constants import REGRESS_OUTPUTS as REGRESS_OUTPUTS
from pinnace.saved_model.constants import SAVED_MODEL_FILENAME_PB as SAVED_MODEL_FILENAME_PB
from pinnace.saved_model.constants import SAVED_MODEL_FILENAME_PBTXT as SAVED_MODEL_FILENAME_PBTXT
from pinnace.saved_model.constants import SAVED_MODEL_SCHEMA_VERSION as SAVED_MODEL_SCHEMA_VERSION
from pinnace.saved_model.constants import SERVING as SERVING
from pinnace.saved_model.constants import TPU as TPU
from pinnace.saved_model.constants import TRAINING as TRAINING
from pinnace.saved_model.constants import VARIABLES_DIRECTORY as VARIABLES_DIRECTORY
from pinnace.saved_model.constants import VARIABLES_FILENAME as VARIABLES_FILENAME
from pinnace.saved_model.constants import contains_saved_model as contains_saved_model
from pinnace.saved_model.options import LoadOptions as LoadOptions
from pinnace.saved_model.options import SaveOptions as SaveOptions
from pinnace.saved_model.reading import load as load

if TYPE_CHECKING:
    from pinnace.saved_model.frozen_graphs import load_frozen_graph as load_frozen_graph
    from pinnace.saved_model.writing import save as save

# Imported on first use, since loading does not need these modules: the first answer comes sooner.
_LATE = {"load_frozen_graph": "frozen_graphs", "save": "writing"}


if not TYPE_CHECKING:  # a checker that saw this would let every typo pass

    def __getattr__(name: str) -> Any:
        if name not in _LATE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(f"{__name__}.{_LATE[name]}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE})
