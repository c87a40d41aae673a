"""The elementwise functions, for which the handlers of `apis` are registered."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["ASSERTIONS", "BINARY", "UNARY", "functions"]

_MATH = "pinnace.ops.math"
_STRINGS = "pinnace.ops.strings"

# Module -> names of functions in it. Which these are is TensorFlow's choice.
UNARY: dict[str, str] = {
    _MATH: "abs acos acosh angle asin asinh atan atanh bessel_i0 bessel_i0e bessel_i1 bessel_i1e "
    "ceil conj cos cosh digamma erf erfc erfcinv erfinv exp expm1 floor imag is_finite is_inf "
    "is_nan lgamma log log1p log_sigmoid logical_not ndtri negative nextafter real reciprocal "
    "reciprocal_no_nan rint round rsqrt sigmoid sign sin sinh softplus sqrt square tan tanh",
    "pinnace.ops.math.special": "bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1 bessel_k1e "
    "bessel_y0 bessel_y1 dawsn expint fresnel_cos fresnel_sin spence",
    "pinnace.ops.math.bits": "invert",
    "pinnace.ops.math.clipping": "clip_by_value",
    "pinnace.ops.array.casting": "cast",
    "pinnace.ops.array.saturation": "saturate_cast",
    "pinnace.ops.array.constants": "ones_like zeros_like",
    "pinnace.ops.array.identities": "check_numerics",
    "pinnace.ops.image": "adjust_brightness adjust_gamma convert_image_dtype random_brightness "
    "stateless_random_brightness",
    "pinnace.ops.io.compressed": "decode_compressed",
    "pinnace.ops.nn": "elu gelu leaky_relu relu relu6 selu silu softsign",
    "pinnace.ops.strings.encoding": "decode_base64 encode_base64",
    _STRINGS: "as_string length lower regex_full_match regex_replace strip substr to_hash_bucket "
    "to_hash_bucket_fast to_hash_bucket_strong to_number unicode_script unicode_transcode upper",
}
BINARY: dict[str, str] = {
    _MATH: "add atan2 divide divide_no_nan equal floordiv floormod greater greater_equal less "
    "less_equal logical_and logical_or logical_xor maximum minimum multiply multiply_no_nan "
    "not_equal pow scalar_mul squared_difference subtract truediv xdivy xlog1py xlogy zeta",
    "pinnace.ops.math.bits": "bitwise_and bitwise_or bitwise_xor left_shift right_shift",
    "pinnace.ops.math.complexes": "complex",
    "pinnace.ops.math.division": "realdiv truncatediv truncatemod",
    "pinnace.ops.nn": "sigmoid_cross_entropy_with_logits",
}
ASSERTIONS: dict[str, str] = {
    "pinnace.ops.control.assertions": "assert_equal assert_greater assert_greater_equal "
    "assert_less assert_less_equal assert_near assert_none_equal",
}


def functions(table: Mapping[str, str]) -> Iterator[Callable[..., Any]]:
    """The functions listed in a table; imports their modules."""
    for module, names in table.items():
        home = importlib.import_module(module)
        for name in names.split():
            yield getattr(home, name)
