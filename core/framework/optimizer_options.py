"""`tf.config.optimizer`: options of TensorFlow's graph optimizer, stored without effect.

`config.set_tier` and `PINNACE_FUSION` control plans here; results do not depend on these options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["get_experimental_options", "get_jit", "set_experimental_options", "set_jit"]

_SWITCHES = frozenset(
    {
        "arithmetic_optimization",
        "auto_mixed_precision",
        "auto_mixed_precision_mkl",
        "auto_mixed_precision_onednn_bfloat16",
        "auto_parallel",
        "constant_folding",
        "debug_stripper",
        "dependency_optimization",
        "disable_meta_optimizer",
        "disable_model_pruning",
        "function_optimization",
        "implementation_selector",
        "layout_optimizer",
        "loop_optimization",
        "min_graph_nodes",
        "pin_to_host_optimization",
        "remapping",
        "scoped_allocator_optimization",
        "shape_optimization",
        "use_plugin_optimizers",
    }
)
_options: dict[str, Any] = {"disable_model_pruning": False, "disable_meta_optimizer": False}
_jit: list[bool] = [False]


def get_experimental_options() -> dict[str, Any]:
    """The options that were set, and two more with their defaults."""
    return dict(_options)


def set_experimental_options(options: Mapping[str, Any]) -> None:
    """Store options; others are unchanged.

    Raises:
        ValueError: an option is unknown.
    """
    unknown = sorted(set(options) - _SWITCHES)
    if unknown:
        raise ValueError(
            f"set_experimental_options: no option {', '.join(unknown)}; "
            f"there are {', '.join(sorted(_SWITCHES))}"
        )
    _options.update(options)


def get_jit() -> str:
    """The value given to `set_jit`: "autoclustering" or nothing."""
    return "autoclustering" if _jit[0] else ""


def set_jit(enabled: bool | str) -> None:
    """Request JIT compilation; hot functions are compiled anyway.

    Raises:
        ValueError: neither a bool nor "autoclustering".
    """
    if enabled not in (True, False, "autoclustering"):
        raise ValueError(f"set_jit: must be True, False or 'autoclustering', got {enabled!r}")
    _jit[0] = bool(enabled)
