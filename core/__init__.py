"""pinnace: SavedModels without TensorFlow.

Public names are TensorFlow's; nothing is defined here. Large or rarely used modules are imported
when first named. The folders, from the lowest layer up: `framework` (tensors, variables), `storage`
(bytes on disk), `ops`, `graph`, `engine` (runs a graph), `autodiff`, `checkpoint`, `functions`
(Python functions to graphs), `data`, `lookup`, `summary`, `distribute`, `keras`. Beside them are
the namespaces that few programs use, and `late.py`, the names that run up. `docs/architecture.md`
follows calls through the layers.
"""

# ruff: noqa: E402 (what stands before the imports makes them quicker)

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from pinnace.framework import process_effects as _process

_process.load_numpy()
_process.ignore_float_warnings()
with _process.collector_paused():  # most of the modules; the imports below take names out of them
    importlib.import_module("pinnace.ops")
    importlib.import_module("pinnace.functions.function")
    _process.promote_imported()

# isort: split
from pinnace import public_imports as _public_imports
from pinnace.autodiff.tape import GradientTape as GradientTape
from pinnace.autodiff.tape import UnconnectedGradients as UnconnectedGradients
from pinnace.framework import config as config
from pinnace.framework import dtypes as dtypes
from pinnace.framework import errors as errors
from pinnace.framework import missing_in_modules as _missing_in_modules
from pinnace.framework import structure as _structure
from pinnace.framework.context import executing_eagerly as executing_eagerly
from pinnace.framework.context import get_current_name_scope as get_current_name_scope
from pinnace.framework.context import init_scope as init_scope
from pinnace.framework.context import inside_function as inside_function
from pinnace.framework.context import name_scope as name_scope
from pinnace.framework.conversions import (
    register_tensor_conversion_function as register_tensor_conversion_function,
)
from pinnace.framework.convert import convert_to_tensor as convert_to_tensor
from pinnace.framework.creation import variable_creator_scope as variable_creator_scope
from pinnace.framework.device_spec import DeviceSpec as DeviceSpec
from pinnace.framework.devices import device as device
from pinnace.framework.dtypes import DType as DType
from pinnace.framework.dtypes import as_dtype as as_dtype
from pinnace.framework.dtypes import bfloat16 as bfloat16
from pinnace.framework.dtypes import bool as bool
from pinnace.framework.dtypes import complex64 as complex64
from pinnace.framework.dtypes import complex128 as complex128
from pinnace.framework.dtypes import double as double
from pinnace.framework.dtypes import float16 as float16
from pinnace.framework.dtypes import float32 as float32
from pinnace.framework.dtypes import float64 as float64
from pinnace.framework.dtypes import half as half
from pinnace.framework.dtypes import int8 as int8
from pinnace.framework.dtypes import int16 as int16
from pinnace.framework.dtypes import int32 as int32
from pinnace.framework.dtypes import int64 as int64
from pinnace.framework.dtypes import qint8 as qint8
from pinnace.framework.dtypes import qint16 as qint16
from pinnace.framework.dtypes import qint32 as qint32
from pinnace.framework.dtypes import quint8 as quint8
from pinnace.framework.dtypes import quint16 as quint16
from pinnace.framework.dtypes import resource as resource
from pinnace.framework.dtypes import string as string
from pinnace.framework.dtypes import uint8 as uint8
from pinnace.framework.dtypes import uint16 as uint16
from pinnace.framework.dtypes import uint32 as uint32
from pinnace.framework.dtypes import uint64 as uint64
from pinnace.framework.dtypes import variant as variant
from pinnace.framework.indexed_slices import IndexedSlices as IndexedSlices
from pinnace.framework.indexed_slices import IndexedSlicesSpec as IndexedSlicesSpec
from pinnace.framework.logger import get_logger as get_logger
from pinnace.framework.module import Module as Module
from pinnace.framework.shapes import TensorShape as TensorShape
from pinnace.framework.specs import TensorSpec as TensorSpec
from pinnace.framework.specs import TypeSpec as TypeSpec
from pinnace.framework.tensor import Tensor as Tensor
from pinnace.framework.tensor import is_symbolic_tensor as is_symbolic_tensor
from pinnace.framework.tensor import is_tensor as is_tensor
from pinnace.framework.variable import Variable as Variable
from pinnace.framework.variable import VariableAggregation as VariableAggregation
from pinnace.framework.variable import VariableSynchronization as VariableSynchronization
from pinnace.functions.control.conditional import case as case
from pinnace.functions.control.conditional import cond as cond
from pinnace.functions.control.conditional import switch_case as switch_case
from pinnace.functions.control.looping import while_loop as while_loop
from pinnace.functions.control.mapping import foldl as foldl
from pinnace.functions.control.mapping import foldr as foldr
from pinnace.functions.control.mapping import map_fn as map_fn
from pinnace.functions.control.mapping import scan as scan
from pinnace.functions.control.mapping import vectorized_map as vectorized_map
from pinnace.functions.custom_gradients import custom_gradient as custom_gradient
from pinnace.functions.custom_gradients import grad_pass_through as grad_pass_through
from pinnace.functions.custom_gradients import recompute_grad as recompute_grad
from pinnace.functions.function import function as function
from pinnace.functions.graph_gradients import AggregationMethod as AggregationMethod
from pinnace.functions.graph_gradients import gradients as gradients
from pinnace.functions.graph_gradients import hessians as hessians
from pinnace.ops import math as math
from pinnace.ops import nn as nn
from pinnace.ops import random as random
from pinnace.ops.array.broadcasting import broadcast_to as broadcast_to
from pinnace.ops.array.casting import bitcast as bitcast
from pinnace.ops.array.casting import cast as cast
from pinnace.ops.array.constants import constant as constant
from pinnace.ops.array.constants import fill as fill
from pinnace.ops.array.constants import ones as ones
from pinnace.ops.array.constants import ones_like as ones_like
from pinnace.ops.array.constants import zeros as zeros
from pinnace.ops.array.constants import zeros_like as zeros_like
from pinnace.ops.array.duplicates import unique as unique
from pinnace.ops.array.duplicates import unique_with_counts as unique_with_counts
from pinnace.ops.array.gathering import gather as gather
from pinnace.ops.array.gathering import gather_nd as gather_nd
from pinnace.ops.array.identities import identity as identity
from pinnace.ops.array.identities import identity_n as identity_n
from pinnace.ops.array.identities import stop_gradient as stop_gradient
from pinnace.ops.array.indicators import meshgrid as meshgrid
from pinnace.ops.array.indicators import one_hot as one_hot
from pinnace.ops.array.indicators import sequence_mask as sequence_mask
from pinnace.ops.array.indicators import unravel_index as unravel_index
from pinnace.ops.array.joining import concat as concat
from pinnace.ops.array.joining import split as split
from pinnace.ops.array.joining import stack as stack
from pinnace.ops.array.joining import unstack as unstack
from pinnace.ops.array.masking import boolean_mask as boolean_mask
from pinnace.ops.array.padding import pad as pad
from pinnace.ops.array.partitioning import dynamic_partition as dynamic_partition
from pinnace.ops.array.partitioning import dynamic_stitch as dynamic_stitch
from pinnace.ops.array.permutations import reverse as reverse
from pinnace.ops.array.permutations import reverse_sequence as reverse_sequence
from pinnace.ops.array.permutations import roll as roll
from pinnace.ops.array.permutations import transpose as transpose
from pinnace.ops.array.reshaping import expand_dims as expand_dims
from pinnace.ops.array.reshaping import reshape as reshape
from pinnace.ops.array.reshaping import squeeze as squeeze
from pinnace.ops.array.saturation import saturate_cast as saturate_cast
from pinnace.ops.array.scattering import scatter_nd as scatter_nd
from pinnace.ops.array.scattering import tensor_scatter_nd_add as tensor_scatter_nd_add
from pinnace.ops.array.scattering import tensor_scatter_nd_max as tensor_scatter_nd_max
from pinnace.ops.array.scattering import tensor_scatter_nd_min as tensor_scatter_nd_min
from pinnace.ops.array.scattering import tensor_scatter_nd_sub as tensor_scatter_nd_sub
from pinnace.ops.array.scattering import tensor_scatter_nd_update as tensor_scatter_nd_update
from pinnace.ops.array.selecting import where as where
from pinnace.ops.array.shapes import broadcast_dynamic_shape as broadcast_dynamic_shape
from pinnace.ops.array.shapes import broadcast_static_shape as broadcast_static_shape
from pinnace.ops.array.shapes import ensure_shape as ensure_shape
from pinnace.ops.array.shapes import rank as rank
from pinnace.ops.array.shapes import shape as shape
from pinnace.ops.array.shapes import shape_n as shape_n
from pinnace.ops.array.shapes import size as size
from pinnace.ops.array.slicing import slice as slice
from pinnace.ops.array.slicing import strided_slice as strided_slice
from pinnace.ops.array.sorting import argsort as argsort
from pinnace.ops.array.sorting import searchsorted as searchsorted
from pinnace.ops.array.sorting import sort as sort
from pinnace.ops.array.space_depth import batch_to_space as batch_to_space
from pinnace.ops.array.space_depth import space_to_batch as space_to_batch
from pinnace.ops.array.space_depth import space_to_batch_nd as space_to_batch_nd
from pinnace.ops.array.tiling import repeat as repeat
from pinnace.ops.array.tiling import tile as tile
from pinnace.ops.composites.tensor_array import TensorArray as TensorArray
from pinnace.ops.composites.tensor_array import TensorArraySpec as TensorArraySpec
from pinnace.ops.control import assertions as _debugging
from pinnace.ops.control.assertions import Assert as Assert
from pinnace.ops.control.assertions import assert_equal as assert_equal
from pinnace.ops.control.assertions import assert_greater as assert_greater
from pinnace.ops.control.assertions import assert_less as assert_less
from pinnace.ops.control.assertions import assert_rank as assert_rank
from pinnace.ops.control.grouping import control_dependencies as control_dependencies
from pinnace.ops.control.grouping import group as group
from pinnace.ops.control.grouping import group_tuple as _tuple
from pinnace.ops.control.grouping import no_op as no_op
from pinnace.ops.control.printing import tf_print as _print
from pinnace.ops.functional.python_calls import numpy_function as numpy_function
from pinnace.ops.functional.python_calls import py_function as py_function
from pinnace.ops.math import bits as _bits
from pinnace.ops.math.arithmetic import add as add
from pinnace.ops.math.arithmetic import add_n as add_n
from pinnace.ops.math.arithmetic import maximum as maximum
from pinnace.ops.math.arithmetic import minimum as minimum
from pinnace.ops.math.arithmetic import multiply as multiply
from pinnace.ops.math.arithmetic import negative as negative
from pinnace.ops.math.arithmetic import scalar_mul as scalar_mul
from pinnace.ops.math.arithmetic import square as square
from pinnace.ops.math.arithmetic import subtract as subtract
from pinnace.ops.math.clipping import clip_by_global_norm as clip_by_global_norm
from pinnace.ops.math.clipping import clip_by_norm as clip_by_norm
from pinnace.ops.math.clipping import clip_by_value as clip_by_value
from pinnace.ops.math.comparison import equal as equal
from pinnace.ops.math.comparison import greater as greater
from pinnace.ops.math.comparison import greater_equal as greater_equal
from pinnace.ops.math.comparison import less as less
from pinnace.ops.math.comparison import less_equal as less_equal
from pinnace.ops.math.comparison import not_equal as not_equal
from pinnace.ops.math.complexes import complex as complex
from pinnace.ops.math.cumulation import cumsum as cumsum
from pinnace.ops.math.division import divide as divide
from pinnace.ops.math.division import realdiv as realdiv
from pinnace.ops.math.division import truediv as truediv
from pinnace.ops.math.division import truncatediv as truncatediv
from pinnace.ops.math.division import truncatemod as truncatemod
from pinnace.ops.math.einstein import einsum as einsum
from pinnace.ops.math.exponents import exp as exp
from pinnace.ops.math.exponents import pow as pow
from pinnace.ops.math.exponents import sigmoid as sigmoid
from pinnace.ops.math.exponents import sqrt as sqrt
from pinnace.ops.math.extremes import argmax as argmax
from pinnace.ops.math.extremes import argmin as argmin
from pinnace.ops.math.histograms import histogram_fixed_width as histogram_fixed_width
from pinnace.ops.math.histograms import histogram_fixed_width_bins as histogram_fixed_width_bins
from pinnace.ops.math.logic import logical_and as logical_and
from pinnace.ops.math.logic import logical_not as logical_not
from pinnace.ops.math.logic import logical_or as logical_or
from pinnace.ops.math.polar import abs as abs
from pinnace.ops.math.polar import sign as sign
from pinnace.ops.math.products import matmul as matmul
from pinnace.ops.math.products import tensordot as tensordot
from pinnace.ops.math.ranges import linspace as linspace
from pinnace.ops.math.ranges import range as range
from pinnace.ops.math.reduction import reduce_all as reduce_all
from pinnace.ops.math.reduction import reduce_any as reduce_any
from pinnace.ops.math.reduction import reduce_max as reduce_max
from pinnace.ops.math.reduction import reduce_mean as reduce_mean
from pinnace.ops.math.reduction import reduce_min as reduce_min
from pinnace.ops.math.reduction import reduce_prod as reduce_prod
from pinnace.ops.math.reduction import reduce_sum as reduce_sum
from pinnace.ops.math.rounding import floor as floor
from pinnace.ops.math.rounding import round as round
from pinnace.ops.math.statistics import reduce_logsumexp as reduce_logsumexp
from pinnace.ops.math.trigonometry import acos as acos
from pinnace.ops.math.trigonometry import acosh as acosh
from pinnace.ops.math.trigonometry import asin as asin
from pinnace.ops.math.trigonometry import asinh as asinh
from pinnace.ops.math.trigonometry import atan as atan
from pinnace.ops.math.trigonometry import atan2 as atan2
from pinnace.ops.math.trigonometry import atanh as atanh
from pinnace.ops.math.trigonometry import cos as cos
from pinnace.ops.math.trigonometry import cosh as cosh
from pinnace.ops.math.trigonometry import sin as sin
from pinnace.ops.math.trigonometry import sinh as sinh
from pinnace.ops.math.trigonometry import tan as tan
from pinnace.ops.math.trigonometry import tanh as tanh

_public_imports.install()
_missing_in_modules.install()
bitwise = _bits
debugging = _debugging
print = _print  # TensorFlow's name
tuple = _tuple
nest = _structure
newaxis = None

# For type checkers and editors only: the same names as `_ON_FIRST_USE`.
if TYPE_CHECKING:
    from pinnace import autodiff as autodiff
    from pinnace import compat as compat
    from pinnace import data as data
    from pinnace import deploy as deploy
    from pinnace import distribute as distribute
    from pinnace import estimator as estimator
    from pinnace import experimental as experimental
    from pinnace import feature_column as feature_column
    from pinnace import graph_util as graph_util
    from pinnace import io as io
    from pinnace import keras as keras
    from pinnace import linalg as linalg
    from pinnace import lite as lite
    from pinnace import lookup as lookup
    from pinnace import profiler as profiler
    from pinnace import saved_model as saved_model
    from pinnace import serving as serving
    from pinnace import summary as summary
    from pinnace import test as test
    from pinnace import train as train
    from pinnace import types as types
    from pinnace import version as version
    from pinnace.data.optionals import OptionalSpec as OptionalSpec
    from pinnace.data.value_specs import NoneTensorSpec as NoneTensorSpec
    from pinnace.data.value_specs import type_spec_from_value as type_spec_from_value
    from pinnace.functions import autograph as autograph
    from pinnace.functions.batched import (
        nondifferentiable_batch_function as nondifferentiable_batch_function,
    )
    from pinnace.functions.critical_section import CriticalSection as CriticalSection
    from pinnace.functions.graphs import Graph as Graph
    from pinnace.functions.wrapping import import_graph_def as import_graph_def
    from pinnace.graph.operation import Operation as Operation
    from pinnace.graph.static_values import get_static_value as get_static_value
    from pinnace.graph.static_values import make_ndarray as make_ndarray
    from pinnace.graph.static_values import make_tensor_proto as make_tensor_proto
    from pinnace.keras import initializers as initializers
    from pinnace.keras import losses as losses
    from pinnace.keras import metrics as metrics
    from pinnace.keras import optimizers as optimizers
    from pinnace.ops import audio as audio
    from pinnace.ops import image as image
    from pinnace.ops import quantization as quantization
    from pinnace.ops import queue as queue
    from pinnace.ops import raw_ops as raw_ops
    from pinnace.ops import signal as signal
    from pinnace.ops import strings as strings
    from pinnace.ops.array.identities import guarantee_const as guarantee_const
    from pinnace.ops.array.parallel import parallel_stack as parallel_stack
    from pinnace.ops.composites import ragged as ragged
    from pinnace.ops.composites import sets as sets
    from pinnace.ops.composites import sparse as sparse
    from pinnace.ops.composites.distances import edit_distance as edit_distance
    from pinnace.ops.composites.ragged.spec import RaggedTensorSpec as RaggedTensorSpec
    from pinnace.ops.composites.ragged.tensor import RaggedTensor as RaggedTensor
    from pinnace.ops.composites.sparse.tensor import SparseTensor as SparseTensor
    from pinnace.ops.composites.sparse.tensor import SparseTensorSpec as SparseTensorSpec
    from pinnace.ops.control.clocks import timestamp as timestamp
    from pinnace.ops.image.patches import extract_volume_patches as extract_volume_patches
    from pinnace.ops.linalg.bands import eye as eye
    from pinnace.ops.linalg.eigen import eig as eig
    from pinnace.ops.linalg.eigen import eigvals as eigvals
    from pinnace.ops.linalg.norms import norm as norm
    from pinnace.ops.nn.dilated import (
        required_space_to_batch_paddings as required_space_to_batch_paddings,
    )
    from pinnace.ops.nn.nearest import approx_top_k as approx_top_k
    from pinnace.ops.ragged.filling import ragged_fill_empty_rows as ragged_fill_empty_rows
    from pinnace.ops.ragged.filling import (
        ragged_fill_empty_rows_grad as ragged_fill_empty_rows_grad,
    )
    from pinnace.ops.random.indices import random_index_shuffle as random_index_shuffle
    from pinnace.ops.signal.over_axes import fftnd as fftnd
    from pinnace.ops.signal.over_axes import ifftnd as ifftnd
    from pinnace.ops.signal.over_axes import irfftnd as irfftnd
    from pinnace.ops.signal.over_axes import rfftnd as rfftnd
    from pinnace.ops.strings.conversion import as_string as as_string
    from pinnace.ops.strings.rows import fingerprint as fingerprint

    __version__: str
    constant_initializer = initializers.Constant
    matrix_square_root = linalg.sqrtm
    ones_initializer = initializers.Ones
    random_normal_initializer = initializers.RandomNormal
    random_uniform_initializer = initializers.RandomUniform
    zeros_initializer = initializers.Zeros

# Each name with its module, or with "module:name" if it is defined in one.
_ON_FIRST_USE = {
    "CriticalSection": "pinnace.functions.critical_section:CriticalSection",
    "Graph": "pinnace.functions.graphs:Graph",
    "NoneTensorSpec": "pinnace.data.value_specs:NoneTensorSpec",
    "OptionalSpec": "pinnace.data.optionals:OptionalSpec",
    "Operation": "pinnace.graph.operation:Operation",
    "RaggedTensor": "pinnace.ops.composites.ragged.tensor:RaggedTensor",
    "RaggedTensorSpec": "pinnace.ops.composites.ragged.spec:RaggedTensorSpec",
    "SparseTensor": "pinnace.ops.composites.sparse.tensor:SparseTensor",
    "SparseTensorSpec": "pinnace.ops.composites.sparse.tensor:SparseTensorSpec",
    "__version__": "pinnace.framework.versions:VERSION",
    "approx_top_k": "pinnace.ops.nn.nearest:approx_top_k",
    "as_string": "pinnace.ops.strings.conversion:as_string",
    "audio": "pinnace.ops.audio",
    "autograph": "pinnace.functions.autograph",
    "compat": "pinnace.compat",
    "constant_initializer": "pinnace.keras.initializers:Constant",
    "data": "pinnace.data",
    "deploy": "pinnace.deploy",
    "distribute": "pinnace.distribute",
    "edit_distance": "pinnace.ops.composites.distances:edit_distance",
    "eig": "pinnace.ops.linalg.eigen:eig",
    "eigvals": "pinnace.ops.linalg.eigen:eigvals",
    "estimator": "pinnace.estimator",
    "experimental": "pinnace.experimental",
    "extract_volume_patches": "pinnace.ops.image.patches:extract_volume_patches",
    "eye": "pinnace.ops.linalg.bands:eye",
    "feature_column": "pinnace.feature_column",
    "fftnd": "pinnace.ops.signal.over_axes:fftnd",
    "fingerprint": "pinnace.ops.strings.rows:fingerprint",
    "get_static_value": "pinnace.graph.static_values:get_static_value",
    "graph_util": "pinnace.graph_util",
    "guarantee_const": "pinnace.ops.array.identities:guarantee_const",
    "ifftnd": "pinnace.ops.signal.over_axes:ifftnd",
    "image": "pinnace.ops.image",
    "import_graph_def": "pinnace.functions.wrapping:import_graph_def",
    "initializers": "pinnace.keras.initializers",
    "io": "pinnace.io",
    "irfftnd": "pinnace.ops.signal.over_axes:irfftnd",
    "keras": "pinnace.keras",
    "linalg": "pinnace.linalg",
    "lookup": "pinnace.lookup",
    "lite": "pinnace.lite",
    "losses": "pinnace.keras.losses",
    "make_ndarray": "pinnace.graph.static_values:make_ndarray",
    "make_tensor_proto": "pinnace.graph.static_values:make_tensor_proto",
    "matrix_square_root": "pinnace.ops.linalg.functions:sqrtm",
    "metrics": "pinnace.keras.metrics",
    "nondifferentiable_batch_function": (
        "pinnace.functions.batched:nondifferentiable_batch_function"
    ),
    "norm": "pinnace.ops.linalg.norms:norm",
    "ones_initializer": "pinnace.keras.initializers:Ones",
    "optimizers": "pinnace.keras.optimizers",
    "parallel_stack": "pinnace.ops.array.parallel:parallel_stack",
    "profiler": "pinnace.profiler",
    "quantization": "pinnace.ops.quantization",
    "queue": "pinnace.ops.queue",
    "ragged": "pinnace.ops.composites.ragged",
    "ragged_fill_empty_rows": "pinnace.ops.ragged.filling:ragged_fill_empty_rows",
    "ragged_fill_empty_rows_grad": "pinnace.ops.ragged.filling:ragged_fill_empty_rows_grad",
    "random_index_shuffle": "pinnace.ops.random.indices:random_index_shuffle",
    "random_normal_initializer": "pinnace.keras.initializers:RandomNormal",
    "random_uniform_initializer": "pinnace.keras.initializers:RandomUniform",
    "raw_ops": "pinnace.ops.raw_ops",
    "required_space_to_batch_paddings": ("pinnace.ops.nn.dilated:required_space_to_batch_paddings"),
    "rfftnd": "pinnace.ops.signal.over_axes:rfftnd",
    "saved_model": "pinnace.saved_model",
    "serving": "pinnace.serving",
    "sets": "pinnace.ops.composites.sets",
    "signal": "pinnace.ops.signal",
    "sparse": "pinnace.ops.composites.sparse",
    "strings": "pinnace.ops.strings",
    "summary": "pinnace.summary",
    "test": "pinnace.test",
    "timestamp": "pinnace.ops.control.clocks:timestamp",
    "train": "pinnace.train",
    "type_spec_from_value": "pinnace.data.value_specs:type_spec_from_value",
    "types": "pinnace.types",
    "version": "pinnace.version",
    "zeros_initializer": "pinnace.keras.initializers:Zeros",
}


if not TYPE_CHECKING:  # a checker that saw this would let every typo pass

    def __getattr__(name: str) -> object:
        if name in _ON_FIRST_USE:
            path, _, inside = _ON_FIRST_USE[name].partition(":")
            found: object = importlib.import_module(path)
            if inside:
                found = getattr(found, inside)
            globals()[name] = found
            return found
        raise _missing_in_modules.error("tf", name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_ON_FIRST_USE])
