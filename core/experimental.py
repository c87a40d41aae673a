"""`tf.experimental`: NumPy's names, extension types, dispatch of functions."""

from pinnace import numpy_names as numpy
from pinnace.data.optionals import Optional as Optional
from pinnace.framework import dlpack as dlpack
from pinnace.framework.asynchronous import async_clear_error as async_clear_error
from pinnace.framework.asynchronous import async_scope as async_scope
from pinnace.framework.dtypes import float4_e2m1fn as float4_e2m1fn
from pinnace.framework.dtypes import float8_e4m3b11fnuz as float8_e4m3b11fnuz
from pinnace.framework.dtypes import float8_e4m3fn as float8_e4m3fn
from pinnace.framework.dtypes import float8_e4m3fnuz as float8_e4m3fnuz
from pinnace.framework.dtypes import float8_e5m2 as float8_e5m2
from pinnace.framework.dtypes import float8_e5m2fnuz as float8_e5m2fnuz
from pinnace.framework.dtypes import int2 as int2
from pinnace.framework.dtypes import int4 as int4
from pinnace.framework.dtypes import uint2 as uint2
from pinnace.framework.dtypes import uint4 as uint4
from pinnace.ops.composites.extension import extension_type as extension_type
from pinnace.ops.composites.extension.apis import dispatch_for_api as dispatch_for_api
from pinnace.ops.composites.extension.apis import (
    dispatch_for_binary_elementwise_apis as dispatch_for_binary_elementwise_apis,
)
from pinnace.ops.composites.extension.apis import (
    dispatch_for_binary_elementwise_assert_apis as dispatch_for_binary_elementwise_assert_apis,
)
from pinnace.ops.composites.extension.apis import (
    dispatch_for_unary_elementwise_apis as dispatch_for_unary_elementwise_apis,
)
from pinnace.ops.composites.extension.apis import unregister_dispatch_for as unregister_dispatch_for
from pinnace.ops.composites.extension.batching import (
    ExtensionTypeBatchEncoder as ExtensionTypeBatchEncoder,
)
from pinnace.ops.composites.extension.specs import ExtensionTypeSpec as ExtensionTypeSpec
from pinnace.ops.composites.extension.types import BatchableExtensionType as BatchableExtensionType
from pinnace.ops.composites.extension.types import ExtensionType as ExtensionType
from pinnace.ops.composites.ragged.dynamic_shape import DynamicRaggedShape as DynamicRaggedShape
from pinnace.ops.composites.ragged.row_partition import RowPartition as RowPartition

__all__ = [
    "BatchableExtensionType",
    "DynamicRaggedShape",
    "ExtensionType",
    "ExtensionTypeBatchEncoder",
    "ExtensionTypeSpec",
    "Optional",
    "RowPartition",
    "async_clear_error",
    "async_scope",
    "dispatch_for_api",
    "dispatch_for_binary_elementwise_apis",
    "dispatch_for_binary_elementwise_assert_apis",
    "dispatch_for_unary_elementwise_apis",
    "dlpack",
    "extension_type",
    "float4_e2m1fn",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "int2",
    "int4",
    "numpy",
    "uint2",
    "uint4",
    "unregister_dispatch_for",
]
