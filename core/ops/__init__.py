"""Every op, and the operators of tensors that are ops."""

from pinnace.framework import dispatch
from pinnace.framework.convert import convert_to_tensor as convert_to_tensor
from pinnace.framework.tensor import Operands, Tensor, TensorLike
from pinnace.ops import array as array
from pinnace.ops import control as control
from pinnace.ops import functional as functional
from pinnace.ops import math as math
from pinnace.ops import nn as nn
from pinnace.ops import random as random
from pinnace.ops import registry
from pinnace.ops import state as state
from pinnace.ops.array import constants, gathering, joining, shapes, slicing
from pinnace.ops.math import arithmetic, bits, comparison, division, exponents, logic, products
from pinnace.ops.state import scatters, variables

# Families that few programs want; they are imported in this order when an op is missed.
registry.later.add(
    "pinnace.ops.strings",
    "pinnace.ops.io",
    "pinnace.ops.io.sequence_examples",
    "pinnace.ops.image",
    "pinnace.ops.linalg",
    "pinnace.ops.quantization",
    "pinnace.ops.ragged",
    "pinnace.ops.sparse",
    "pinnace.ops.signal",
    "pinnace.ops.dataset",
    "pinnace.ops.summary",
    "pinnace.ops.audio",
    "pinnace.ops.trees",
    "pinnace.ops.text",
    "pinnace.ops.array.earlier",
    "pinnace.ops.array.replacing",
    "pinnace.ops.math.bessel",
    "pinnace.ops.math.integrals",
    "pinnace.ops.nn.data_formats",
    "pinnace.ops.nn.pooling.fractional",
    "pinnace.ops.nn.packed_rnn",
    "pinnace.ops.nn.recurrent_blocks",
    "pinnace.ops.random.indices",
    "pinnace.ops.state.optimizer_steps",
)


def _and(x: TensorLike, y: TensorLike) -> Tensor:
    x, y = _pair(x, y)
    return logic.logical_and(x, y) if x.dtype.is_bool else bits.bitwise_and(x, y)


def _or(x: TensorLike, y: TensorLike) -> Tensor:
    x, y = _pair(x, y)
    return logic.logical_or(x, y) if x.dtype.is_bool else bits.bitwise_or(x, y)


def _xor(x: TensorLike, y: TensorLike) -> Tensor:
    x, y = _pair(x, y)
    return logic.logical_xor(x, y) if x.dtype.is_bool else bits.bitwise_xor(x, y)


def _not(x: TensorLike) -> Tensor:
    x = convert_to_tensor(x)
    return logic.logical_not(x) if x.dtype.is_bool else bits.invert(x)


def _pair(x: TensorLike, y: TensorLike) -> tuple[Tensor, Tensor]:
    return arithmetic.as_pair(x, y)


dispatch.install(
    abs=arithmetic.abs,
    add=arithmetic.add,
    assign=variables.assign,
    assign_add=variables.assign_add,
    assign_slice=scatters.assign_slice,
    assign_sub=variables.assign_sub,
    bitwise_and=_and,
    bitwise_not=_not,
    bitwise_or=_or,
    bitwise_xor=_xor,
    constant=constants.constant,
    equal=comparison.same,
    floordiv=division.floordiv,
    gather_nd_of=scatters.gather_nd,
    getitem=slicing.getitem,
    getitem_of=scatters.getitem_of,
    greater=comparison.greater,
    greater_equal=comparison.greater_equal,
    less=comparison.less,
    less_equal=comparison.less_equal,
    matmul=products.matmul,
    mod=division.floormod,
    multiply=arithmetic.multiply,
    negative=arithmetic.negative,
    not_equal=comparison.differs,
    pack=joining.stack,
    power=exponents.pow,
    read_variable=variables.read_variable,
    scatter=scatters.scatter,
    scatter_nd=scatters.scatter_nd,
    shape=shapes.shape,
    sparse_read=scatters.sparse_read,
    subtract=arithmetic.subtract,
    summed_slices=gathering.summed_slices,
    truediv=division.truediv,
    unstack=joining.unstack,
    with_batch_places=gathering._with_batch_places,
)

dispatch.install_methods(
    Operands,
    add=arithmetic.add,
    matmul=products.matmul,
    mul=arithmetic.multiply,
    sub=arithmetic.subtract,
)
