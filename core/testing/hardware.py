"""Inquiries about the build and the machine before a test: one CPU, and nothing else."""

from __future__ import annotations

from typing import Any

from pinnace.framework.no_effect import ignored


def is_built_with_cuda() -> bool:
    """Whether there are kernels for GPUs of NVIDIA: no."""
    return False


def is_built_with_rocm() -> bool:
    """Whether there are kernels for GPUs of AMD: no."""
    return False


def is_built_with_gpu_support() -> bool:
    """Whether there are kernels for any GPU: no."""
    return False


def is_built_with_xla() -> bool:
    """Whether XLA compiles functions: no, plans are compiled otherwise."""
    return False


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: Any = None) -> bool:
    """Whether there is a GPU to run on: no."""
    why = "there is none"
    ignored("is_gpu_available", why, False, cuda_only=cuda_only)
    ignored("is_gpu_available", why, min_cuda_compute_capability=min_cuda_compute_capability)
    return False


def gpu_device_name() -> str:
    """The name of a GPU, or nothing."""
    return ""
