"""Test cases with assertions about tensors, and gradients beside numeric ones."""

from pinnace.testing.case import TestCase as TestCase
from pinnace.testing.case import main as main
from pinnace.testing.gradients import compute_gradient as compute_gradient
from pinnace.testing.hardware import gpu_device_name as gpu_device_name
from pinnace.testing.hardware import is_built_with_cuda as is_built_with_cuda
from pinnace.testing.hardware import is_built_with_gpu_support as is_built_with_gpu_support
from pinnace.testing.hardware import is_built_with_rocm as is_built_with_rocm
from pinnace.testing.hardware import is_built_with_xla as is_built_with_xla
from pinnace.testing.hardware import is_gpu_available as is_gpu_available
