"""Test cases with assertions about tensors, and comparison of gradients with differences."""

from pinnace.testing import experimental as experimental
from pinnace.testing.benchmarks import Benchmark as Benchmark
from pinnace.testing.case import TestCase as TestCase
from pinnace.testing.case import main as main
from pinnace.testing.comparing_graphs import assert_equal_graph_def as assert_equal_graph_def
from pinnace.testing.comparing_graphs import disable_with_predicate as disable_with_predicate
from pinnace.testing.comparing_graphs import is_cpu_target_available as is_cpu_target_available
from pinnace.testing.comparing_graphs import (
    with_eager_op_as_function as with_eager_op_as_function,
)
from pinnace.testing.gradients import compute_gradient as compute_gradient
from pinnace.testing.hardware import gpu_device_name as gpu_device_name
from pinnace.testing.hardware import is_built_with_cuda as is_built_with_cuda
from pinnace.testing.hardware import is_built_with_gpu_support as is_built_with_gpu_support
from pinnace.testing.hardware import is_built_with_rocm as is_built_with_rocm
from pinnace.testing.hardware import is_built_with_xla as is_built_with_xla
from pinnace.testing.hardware import is_gpu_available as is_gpu_available
