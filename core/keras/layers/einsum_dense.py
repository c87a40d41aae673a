"""EinsumDense: a Dense layer whose product is any Einstein sum."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from pinnace.framework.no_effect import ignored
from pinnace.framework.variable import Variable
from pinnace.keras import activations, configuration, constraints, initializers, ops, regularizers
from pinnace.keras.layers import quantized
from pinnace.keras.layers.adapted import Adapted
from pinnace.keras.layers.products import ProductLayer
from pinnace.ops.math import arithmetic, einstein

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Tensor
    from pinnace.keras.layer import LayerOptions


class EinsumDense(ProductLayer):
    """activation(einsum(equation, x, kernel) + bias).

    Args:
        equation: as `ab,bc->ac`; dots at one end of the input's and the output's letters stand for
            further axes.
        output_shape: sizes of the output without the batch axis; None for those inferred from the
            input.
        activation: name or function.
        bias_axes: letters of the output that the bias has; None for no bias.
        kernel_initializer: first value of the kernel.
        bias_initializer: first value of the bias.
        kernel_regularizer: penalty of the kernel.
        bias_regularizer: penalty of the bias.
        kernel_constraint: constraint applied to the kernel after each step.
        bias_constraint: constraint applied to the bias after each step.
        lora_rank: see `enable_lora`; no adapter if None.
        lora_alpha: likewise.
        gptq_unpacked_column_size: has no effect, which a warning says.
        quantization_config: how it is quantized if its policy says that it is.
        **options: see Layer.

    Shapes:
        x and y as the equation says, x [..., in] → [..., out] in `...,io->...o`; kernel [in, out].

    Raises:
        ValueError: the equation has another form, or the size of a letter is undetermined.
    """

    _takes_floats = True

    kernel = Adapted()

    def __init__(
        self,
        equation: str,
        output_shape: int | Sequence[int | None],
        activation: activations.ActivationLike = None,
        bias_axes: str | None = None,
        kernel_initializer: initializers.InitializerLike = "glorot_uniform",
        bias_initializer: initializers.InitializerLike = "zeros",
        kernel_regularizer: regularizers.RegularizerLike = None,
        bias_regularizer: regularizers.RegularizerLike = None,
        kernel_constraint: constraints.ConstraintLike = None,
        bias_constraint: constraints.ConstraintLike = None,
        lora_rank: int | None = None,
        lora_alpha: float | None = None,
        gptq_unpacked_column_size: int | None = None,
        quantization_config: Any = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        why = "there is no mode 'gptq'"
        ignored("EinsumDense", why, gptq_unpacked_column_size=gptq_unpacked_column_size)
        self._set_adapters(lora_rank, lora_alpha, quantization_config)
        # The number of input axes covered by an ellipsis; known after build.
        self._further = 0
        self.equation = equation
        self._letters = _Letters.parsed(equation)
        self.partial_output_shape = (
            (output_shape,) if isinstance(output_shape, int) else tuple(output_shape)
        )
        self.activation = activations.get(activation)
        self.bias_axes = bias_axes
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)

    def build(self, x: TensorSpec) -> None:
        """Create kernel and bias."""
        sizes = self._letters.sizes(x.shape.as_list(), self.partial_output_shape)

        def size(letter: str) -> int:
            found = sizes.get(letter)
            if found is None:
                raise ValueError(
                    f"{self._described()}: the size of {letter!r} in {self.equation!r} must be "
                    f"known from the input {x.shape.text} or output_shape "
                    f"{self.partial_output_shape}"
                )
            return found

        self._further = (x.rank or 0) - len(self._letters.input)
        self._make_main(tuple(map(size, self._letters.kernel)), self._first_kernel)
        self.bias = None
        if self.bias_axes is not None:
            output = self._letters.output
            missing = [letter for letter in self.bias_axes if letter not in output]
            if missing:
                raise ValueError(
                    f"{self._described()}: bias_axes must be letters of the output {output!r}, "
                    f"got {self.bias_axes!r}"
                )
            first = min((output.find(letter) for letter in self.bias_axes), default=len(output))
            shape = [size(x) if x in self.bias_axes else 1 for x in output[first:]]
            if self._letters.dots == "right":
                shape += [1] * self._further
            self.bias = self.add_weight(
                "bias",
                shape,
                self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self._make_adapter()

    def _first_kernel(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        """The initial kernel; the equation determines the fan-in axes."""
        make = self.kernel_initializer
        told = None not in (getattr(make, "input_axes", None), getattr(make, "output_axes", None))
        if told or not isinstance(make, initializers.VarianceScaling):
            return make(shape, dtype=dtype)  # type: ignore[no-any-return]
        outputs = [letter in self._letters.output for letter in self._letters.kernel]
        fan_in = math.prod(n for n, out in zip(shape, outputs, strict=True) if not out)
        fan_out = math.prod(n for n, out in zip(shape, outputs, strict=True) if out)
        return make(shape, dtype=dtype, fans=(fan_in, fan_out))

    def call(self, x: Tensor, training: bool | None = None) -> Tensor:
        """The sum, the bias, the activation."""
        del training
        y = self._product(x, self.kernel)
        if self.bias is not None:
            y = arithmetic.add(y, self.bias)
        return y if self.activation is None else self.activation(y)

    # Required by ProductLayer and AdaptableLayer.

    def _product(self, x: Any, kernel: Any) -> Tensor:
        weight = kernel.value() if isinstance(kernel, Variable) else kernel
        return einstein.einsum(self._letters.whole, x, weight)

    def _product_backward(self, dy: Any, kernel: Any) -> Tensor:
        return einstein.einsum(self._letters.backward, dy, kernel)

    def _input_axes(self, x: Any) -> tuple[int, ...]:
        del x
        letters = self._letters
        first = self._further if letters.dots == "left" else 0
        places = enumerate(letters.input, first)
        return tuple(place for place, letter in places if letter not in letters.output)

    def _adapter_product(self, x: Any) -> Any:
        if self._letters.whole.endswith(self._letters.kernel[-1]):
            return super()._adapter_product(x)
        # The columns of the first matrix would not be the last axis of the outputs.
        first, second = (getattr(self, name) for name in self._adapter_names)
        return self._product(x, ops.matmul(first, second))

    def _beside_outputs(self, scale: Any) -> Any:
        letters = self._letters
        kept = [letter for letter in letters.output if letter in letters.input]
        before = [letter for letter in letters.input if letter in letters.output]
        y = ops.squeeze(scale, axis=self._input_axes(scale))
        first = self._further if letters.dots == "left" else 0
        last = self._further if letters.dots == "right" else 0
        order = [first + before.index(letter) for letter in kept]
        behind = range(first + len(kept), first + len(kept) + last)
        y = ops.transpose(y, [*range(first), *order, *behind])
        for place, letter in enumerate(letters.output):
            if letter not in letters.input:
                y = ops.expand_dims(y, first + place)
        return y

    def _form(self, shape: tuple[int, ...]) -> quantized.Form:
        letters = self._letters
        size = dict(zip(letters.kernel, shape, strict=True))
        summed = tuple(i for i, letter in enumerate(letters.kernel) if letter not in letters.output)
        kept = [letter for letter in letters.output if letter in size]
        beside = tuple(size.get(letter, 1) for letter in letters.output)
        further = (1,) * self._further
        scale_shape = {"left": (*further, *beside), "right": (*beside, *further)}
        order = (*summed, *map(letters.kernel.index, kept))
        return quantized.Form(shape, summed, scale_shape.get(letters.dots, beside), order)

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        config = configuration.constructor_config(self)
        return {**super().get_config(), **config, "output_shape": list(self.partial_output_shape)}


class _Letters(NamedTuple):
    """The parsed equation.

    Attributes:
        input: letters of the input, without dots.
        kernel: letters of the kernel.
        output: letters of the output, without dots.
        dots: the end at which further axes are: `left`, `right` or nowhere.
        whole: the equation as `einsum` takes it.
        backward: the plan of the input's gradient.
    """

    input: str
    kernel: str
    output: str
    dots: str
    whole: str

    @property
    def backward(self) -> str:
        sides, y = self.whole.split("->")
        return f"{y},{self.kernel}->{sides.split(',')[0]}"

    @staticmethod
    def parsed(equation: str) -> _Letters:
        whole = equation.replace(" ", "")
        sides = whole.split("->")
        operands = sides[0].split(",")
        if len(sides) == 2 and len(operands) == 2:
            x, kernel, y = *operands, sides[1]
            dots = "left" if x.startswith("...") else "right" if x.endswith("...") else ""
            plain = [part.replace("...", "") for part in (x, kernel, y)]
            fits = ("..." in y) == bool(dots) and "..." not in kernel
            if fits and all(part == "" or part.isalpha() for part in plain):
                return _Letters(plain[0], plain[1], plain[2], dots, whole)
        raise ValueError(
            "EinsumDense: equation must look like 'ab,bc->ac', '...ab,bc->...ac' or "
            f"'ab...,bc->ac...', got {equation!r}"
        )

    def sizes(
        self, shape: Sequence[int | None], output_shape: Sequence[int | None]
    ) -> dict[str, int]:
        """The size of each letter, as far as input and output determine it."""
        known: dict[str, int] = {}
        if self.dots == "left":
            pairs = [*zip(self.input[::-1], shape[::-1], strict=False)]
            pairs += zip(self.output[::-1], output_shape[::-1], strict=False)
        else:
            pairs = [*zip(self.input, shape, strict=False)]
            pairs += zip(self.output[1:], output_shape, strict=False)
        for letter, size in pairs:
            if size is None:
                continue
            if known.setdefault(letter, size) != size:
                raise ValueError(
                    f"EinsumDense: {letter!r} of {self.whole!r} is {known[letter]} in the input "
                    f"and {size} in output_shape"
                )
        return known
