"""Keras: layers, models, training.

- `layer.Layer` and its parts (`weights`, `penalties`, `call_context`); `layers`: all layers.
- `models`: Model, Functional, Sequential; `symbolic.KerasTensor`, of which functional models are
  made, with its operators in `symbolic_methods`.
- `training`: compile, fit, evaluate, predict; `losses`, `metrics`, `optimizers`, `callbacks`.
- `ops`: the functions `keras.ops`, by Keras' promotion; `random`, `quantizers`.
- `saving`, `export`, `legacy`: files of Keras 1 to 3, and SavedModels.
- `registry`: class ↔ registered name ↔ configuration; `dtype_policy`.
- `applications`, `datasets`, `preprocessing`, `augmentation`, `drawing`: loaded when named.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pinnace.framework.devices import device as device
from pinnace.keras import activations as activations
from pinnace.keras import callbacks as callbacks
from pinnace.keras import config as config
from pinnace.keras import constraints as constraints
from pinnace.keras import graph_nodes as _graph_nodes  # noqa: F401 (registers its class)
from pinnace.keras import initializers as initializers
from pinnace.keras import layers as layers
from pinnace.keras import losses as losses
from pinnace.keras import mask_operation as _mask_operation  # noqa: F401 (registers its class)
from pinnace.keras import metrics as metrics
from pinnace.keras import models as models
from pinnace.keras import ops as ops
from pinnace.keras import optimizers as optimizers
from pinnace.keras import public_functions as _public_functions  # noqa: F401 (registers its classes)
from pinnace.keras import random as random
from pinnace.keras import regularizers as regularizers
from pinnace.keras import saving as saving
from pinnace.keras import symbolic_methods as _symbolic_methods  # noqa: F401 (binds them)
from pinnace.keras import tree as tree
from pinnace.keras import utils_namespace as _utils_namespace
from pinnace.keras import variable_operators as _variable_operators  # noqa: F401 (binds them)
from pinnace.keras.dtype_policy import DTypePolicy as DTypePolicy
from pinnace.keras.function import Function as Function
from pinnace.keras.initializers import Initializer as Initializer
from pinnace.keras.input_spec import InputSpec as InputSpec
from pinnace.keras.layer import Layer as Layer
from pinnace.keras.layers.input import Input as Input
from pinnace.keras.losses.loss import Loss as Loss
from pinnace.keras.metrics.metric import Metric as Metric
from pinnace.keras.models.functional import Functional as Functional
from pinnace.keras.models.model import Model as Model
from pinnace.keras.models.sequential import Sequential as Sequential
from pinnace.keras.naming import name_scope as name_scope
from pinnace.keras.naming import version as version
from pinnace.keras.operation import Operation as Operation
from pinnace.keras.optimizers.optimizer import Optimizer as Optimizer
from pinnace.keras.regularizers import Regularizer as Regularizer
from pinnace.keras.rematerialisation import RematScope as RematScope
from pinnace.keras.rematerialisation import remat as remat
from pinnace.keras.seeds import SeedGenerator as SeedGenerator
from pinnace.keras.stateless import StatelessScope as StatelessScope
from pinnace.keras.symbolic import KerasTensor as KerasTensor
from pinnace.keras.variables import Variable as Variable

if TYPE_CHECKING:
    from pinnace.keras import applications as applications
    from pinnace.keras import backend as backend
    from pinnace.keras import datasets as datasets
    from pinnace.keras import dtype_policies as dtype_policies
    from pinnace.keras import experimental as experimental
    from pinnace.keras import export as export
    from pinnace.keras import legacy as legacy
    from pinnace.keras import mixed_precision as mixed_precision
    from pinnace.keras import preprocessing as preprocessing
    from pinnace.keras import quantizers as quantizers
    from pinnace.keras import wrappers as wrappers
    from pinnace.keras.quantizers import Quantizer as Quantizer

utils = _utils_namespace
FloatDTypePolicy = DTypePolicy
__version__ = version()
# Rarely used modules, loaded on first use.
_LATE = (
    "applications",
    "backend",
    "datasets",
    "dtype_policies",
    "experimental",
    "export",
    "legacy",
    "mixed_precision",
    "preprocessing",
    "quantizers",
    "wrappers",
)


if not TYPE_CHECKING:  # a checker that saw this would let every typo pass

    def __getattr__(name: str) -> Any:
        if name == "Quantizer":
            return importlib.import_module(f"{__name__}.quantizers").Quantizer
        if name not in _LATE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE, "Quantizer"})
