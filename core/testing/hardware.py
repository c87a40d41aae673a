"""Queries about the build and the machine: a CPU and nothing else."""

from __future__ import annotations

from typing import Any

from pinnace.framework.no_effect import ignored


def is_built_with_cuda() -> bool:
    """Whether there are kernels for NVIDIA GPUs: False."""
    return False


def is_built_with_rocm() -> bool:
    """Whether there are kernels for AMD GPUs: False."""
    return False


def is_built_with_gpu_support() -> bool:
    """Whether there are kernels for any GPU: False."""
    return False


def is_built_with_xla() -> bool:
    """Whether XLA compiles functions: False."""
    return False


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: Any = None) -> bool:
    """Whether there is a GPU: False."""
    why = "there is none"
    ignored("is_gpu_available", why, False, cuda_only=cuda_only)
    ignored("is_gpu_available", why, min_cuda_compute_capability=min_cuda_compute_capability)
    return False


def gpu_device_name() -> str:
    """The name of a GPU: an empty string."""
    return ""
