"""The attributes of each VHLO op, whose values are stored in files without their names.

They are in alphabetical order. An op without `_v` is read in every version that has no entry.
"""

from __future__ import annotations

_CONVOLUTION = (
    *("batch_group_count", "feature_group_count", "input_batch_dimension"),
    *("input_feature_dimension", "input_spatial_dimensions", "kernel_input_feature_dimension"),
    *("kernel_output_feature_dimension", "kernel_spatial_dimensions", "lhs_dilation"),
    *("output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"),
    *("padding", "precision_config", "rhs_dilation", "window_reversal", "window_strides"),
)
_CUSTOM_CALL = (
    *("api_version", "backend_config", "call_target_name", "called_computations"),
    *("has_side_effect", "operand_layouts", "output_operand_aliases", "result_layouts"),
)
_DOT_V1 = (
    *("lhs_batching_dimensions", "lhs_contracting_dimensions", "precision_config"),
    *("rhs_batching_dimensions", "rhs_contracting_dimensions"),
)
_DOT = (
    *("accumulation_type", "allow_imprecise_accumulation", "lhs_batching_dimensions"),
    *("lhs_component_count", "lhs_contracting_dimensions", "lhs_precision_type"),
    *("num_primitive_operations", "precision_config", "rhs_batching_dimensions"),
    *("rhs_component_count", "rhs_contracting_dimensions", "rhs_precision_type"),
)
_COLLECTIVE = ("channel_id", "replica_groups", "use_global_device_ids")
_SEND = ("channel_id", "channel_type", "is_host_transfer")
_FIELDS: dict[str, tuple[str, ...]] = {
    "all_gather": ("all_gather_dim", *_COLLECTIVE),
    "all_reduce": _COLLECTIVE,
    "all_to_all": (
        *("channel_id", "concat_dimension", "replica_groups", "split_count", "split_dimension"),
    ),
    "batch_norm_grad": ("epsilon", "feature_index"),
    "batch_norm_inference": ("epsilon", "feature_index"),
    "batch_norm_training": ("epsilon", "feature_index"),
    "broadcast": ("broadcast_sizes",),
    "broadcast_in_dim": ("broadcast_dimensions",),
    "call": ("callee",),
    "cholesky": ("lower",),
    "collective_broadcast": ("channel_id", "has_dynamic_root", "replica_groups"),
    "collective_broadcast_v1": ("channel_id", "replica_groups"),
    "collective_permute": ("channel_id", "source_target_pairs"),
    "collective_reduce": ("channel_id", "has_dynamic_root", *_COLLECTIVE[1:]),
    "compare": ("compare_type", "comparison_direction"),
    "composite": ("composite_attributes", "decomposition", "name", "version"),
    "concatenate": ("dimension",),
    "constant": ("value",),
    "convolution": _CONVOLUTION,
    "cross-replica-sum": ("replica_groups",),
    "custom_call": (*_CUSTOM_CALL, "result_tilings"),
    "custom_call_v1": _CUSTOM_CALL,
    "dot": ("precision_config",),
    "dot_general": _DOT,
    "dot_general_v1": _DOT_V1,
    "dynamic_broadcast_in_dim": (
        *("broadcast_dimensions", "known_expanding_dimensions", "known_nonexpanding_dimensions"),
    ),
    "dynamic_conv": tuple(name for name in _CONVOLUTION if name != "padding"),
    "dynamic_conv_v1": _CONVOLUTION,
    "dynamic_gather": (
        *("collapsed_slice_dims", "index_vector_dim", "indices_are_sorted", "offset_dims"),
        *("operand_batching_dims", "start_index_map", "start_indices_batching_dims"),
    ),
    "dynamic_gather_v1": (
        *("collapsed_slice_dims", "index_vector_dim", "indices_are_sorted", "offset_dims"),
        "start_index_map",
    ),
    "dynamic_iota": ("iota_dimension",),
    "dynamic_slice": ("slice_sizes",),
    "einsum": ("einsum_config",),
    "fft": ("fft_length", "fft_type"),
    "func": ("arg_attrs", "function_type", "res_attrs", "sym_name", "sym_visibility"),
    "gather": (
        *("collapsed_slice_dims", "index_vector_dim", "indices_are_sorted", "offset_dims"),
        *("operand_batching_dims", "slice_sizes", "start_index_map"),
        "start_indices_batching_dims",
    ),
    "gather_v1": (
        *("collapsed_slice_dims", "index_vector_dim", "indices_are_sorted", "offset_dims"),
        *("slice_sizes", "start_index_map"),
    ),
    "get_dimension_size": ("dimension",),
    "get_tuple_element": ("index",),
    "infeed": ("infeed_config", "layout"),
    "iota": ("iota_dimension",),
    "map": ("dimensions",),
    "outfeed": ("outfeed_config",),
    "pad": ("edge_padding_high", "edge_padding_low", "interior_padding"),
    "recv": (*_SEND, "source_target_pairs"),
    "recv_v1": _SEND,
    "reduce": ("dimensions",),
    "reduce_precision": ("exponent_bits", "mantissa_bits"),
    "reduce_scatter": (
        *("channel_id", "replica_groups", "scatter_dimension", "use_global_device_ids"),
    ),
    "reduce_window": (
        *("base_dilations", "padding", "window_dilations", "window_dimensions", "window_strides"),
    ),
    "reverse": ("dimensions",),
    "rng": ("rng_distribution",),
    "rng_bit_generator": ("rng_algorithm",),
    "scatter": (
        *("index_vector_dim", "indices_are_sorted", "input_batching_dims"),
        *("inserted_window_dims", "scatter_dims_to_operand_dims"),
        *("scatter_indices_batching_dims", "unique_indices", "update_window_dims"),
    ),
    "scatter_v1": (
        *("index_vector_dim", "indices_are_sorted", "inserted_window_dims"),
        *("scatter_dims_to_operand_dims", "unique_indices", "update_window_dims"),
    ),
    "select_and_scatter": ("padding", "window_dimensions", "window_strides"),
    "send": (*_SEND, "source_target_pairs"),
    "send_v1": _SEND,
    "set_dimension_size": ("dimension",),
    "slice": ("limit_indices", "start_indices", "strides"),
    "sort": ("dimension", "is_stable"),
    "torch_index_select": ("batch_dims", "dim"),
    "transpose": ("permutation",),
    "triangular_solve": ("left_side", "lower", "transpose_a", "unit_diagonal"),
    "unary_einsum": ("einsum_config",),
    **dict.fromkeys(
        (
            *("cbrt_v2", "cosine_v2", "exponential_minus_one_v2", "exponential_v2"),
            *("log_plus_one_v2", "log_v2", "logistic_v2", "rsqrt_v2", "sine_v2", "sqrt_v2"),
            *("tan_v2", "tanh_v2"),
        ),
        ("result_accuracy",),
    ),
}
# Ops without attributes.
_PLAIN = frozenset(
    (
        *("abs", "add", "after_all", "and", "async_done", "async_start", "atan2"),
        *("bitcast_convert", "case", "cbrt", "ceil", "clamp", "complex", "convert", "cosine"),
        *("count_leading_zeros", "create_token", "divide", "dynamic_pad", "dynamic_reshape"),
        *("dynamic_update_slice", "exponential", "exponential_minus_one", "floor", "if", "imag"),
        *("is_finite", "log", "log_plus_one", "logistic", "maximum", "minimum", "multiply"),
        *("negate", "not", "optimization_barrier", "or", "partition_id", "popcnt", "power"),
        *("real", "real_dynamic_slice", "remainder", "replica_id", "reshape", "return"),
        *("round_nearest_afz", "round_nearest_even", "rsqrt", "select", "shift_left"),
        *("shift_right_arithmetic", "shift_right_logical", "sign", "sine", "sqrt", "subtract"),
        *("tan", "tanh", "tuple", "uniform_dequantize", "uniform_quantize", "while", "xor"),
    )
)


def fields_of(name: str) -> tuple[str, tuple[str, ...]] | None:
    """Return an op's name without its version, and its attributes' names; None if it is unknown.

    Args:
        name: the op's name in the file, such as `gather_v2`.
    """
    base, _, version = name.rpartition("_v")
    if not version.isdecimal():
        return None
    for key in (name, base):
        if key in _FIELDS:
            return base, _FIELDS[key]
    return (base, ()) if base in _PLAIN else None


def op_names() -> list[str]:
    """The ops of StableHLO, without versions, in alphabetical order."""
    versioned = {name.rpartition("_v")[0] for name in _FIELDS if name[-3:-1] == "_v"}
    plain = {name for name in _FIELDS if name[-3:-1] != "_v"}
    return sorted((versioned | plain | _PLAIN) - {"func"})
