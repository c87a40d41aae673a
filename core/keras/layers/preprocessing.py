"""Preprocessing of numbers and images: Normalization, Rescaling, Resizing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from pinnace.framework.columns import is_column
from pinnace.framework.composite import is_composite
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.no_effect import ignored
from pinnace.framework.specs import TensorSpec
from pinnace.keras.dtype_policy import epsilon
from pinnace.keras.forms import is_rows
from pinnace.keras.image_format import checked_format, image_data_format
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.keras.layers.followed import FollowedLayer, FollowedOptions
from pinnace.keras.ops.formats import images_last, images_restored
from pinnace.keras.ops.image_sizes import cropped_to_ratio, padded_to_ratio
from pinnace.keras.plain_lists import one_array
from pinnace.keras.py_dataset import PyDataset
from pinnace.ops.array import casting, reshaping
from pinnace.ops.image import resizing
from pinnace.ops.math import arithmetic, exponents

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinnace.framework.tensor import Tensor


class Rescaling(Layer):
    """x scale + offset, computed in floats.

    Args:
        scale: a number, or an array that broadcasts.
        offset: a number, or an array that broadcasts.
        **options: see Layer.

    Shapes:
        x [...] → the same.
    """

    def __init__(self, scale: Any, offset: Any = 0.0, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self.supports_masking = True
        self.scale = scale
        self.offset = offset
        self._build_at_init()

    def call(self, x: Tensor) -> Tensor:
        """The rescaled input."""
        kind = self._policy._compute
        if x.dtype is not kind:
            x = casting.cast(x, kind)
        scale = _of_kind(self.scale, kind)
        if len(scale.shape) and image_data_format() == "channels_first":
            # Keras: the channels are those of [c, h, w]; an offset is given in that shape.
            scale = reshaping.reshape(scale, [*scale.shape, *[1] * (3 - len(scale.shape))])
        y = x * scale
        return (
            y
            if isinstance(self.offset, float) and self.offset == 0
            else y + _of_kind(self.offset, kind)
        )


def _of_kind(number: Any, kind: Any) -> Tensor:
    # Keras: with an integer dtype, fractions are cut off.
    return convert_to_tensor(number, kind) if kind.is_floating else casting.cast(number, kind)


class Resizing(FollowedLayer):
    """Resizes images: [b, h, w, c] or [h, w, c]; or a dict that contains them.

    Args:
        height: height of the result.
        width: width of the result.
        interpolation: `bilinear`, `nearest`, `bicubic`, `area`, `lanczos3` or `lanczos5`.
        crop_to_aspect_ratio: whether the middle in the new ratio is cut out first, so that nothing
            is distorted.
        pad_to_aspect_ratio: whether the whole picture is kept in its ratio instead, with
            `fill_value` beside it.
        fill_mode: must be `constant`.
        fill_value: see above.
        antialias: whether to smooth before shrinking.
        data_format: `channels_last` or `channels_first`.
        **options: `bounding_box_format`; see Layer.

    Shapes:
        x [b, rows, columns, c] or [rows, columns, c] → the same with `height` rows and `width`
        columns.
    """

    def __init__(
        self,
        height: int,
        width: int,
        interpolation: str = "bilinear",
        crop_to_aspect_ratio: bool = False,
        pad_to_aspect_ratio: bool = False,
        fill_mode: str = "constant",
        fill_value: float = 0.0,
        antialias: bool = False,
        data_format: str | None = None,
        **options: Unpack[FollowedOptions],
    ) -> None:
        super().__init__(**options)
        if pad_to_aspect_ratio and crop_to_aspect_ratio:
            raise ValueError("Resizing: only one of crop_ and pad_to_aspect_ratio may be given")
        if fill_mode != "constant":
            raise ValueError(f"Resizing: fill_mode must be constant, got {fill_mode!r}")
        known = ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5")
        if interpolation not in known:
            raise ValueError(
                f"Resizing: interpolation must be one of {', '.join(known)}, got {interpolation!r}"
            )
        self.height = height
        self.width = width
        self.interpolation = interpolation
        self.crop_to_aspect_ratio = crop_to_aspect_ratio
        self.data_format = checked_format("Resizing", data_format)
        self.pad_to_aspect_ratio = pad_to_aspect_ratio
        self.fill_mode = fill_mode
        self.fill_value = fill_value
        self.antialias = antialias
        self._build_at_init()

    def call(self, x: Any) -> Any:
        """The resized images; for a dict, with its other entries."""
        return self._with_company(x) if isinstance(x, dict) else self._picture(x)

    def _picture(self, x: Tensor, is_mask: bool = False) -> Tensor:
        y, first, single = images_last("resize", x, self.data_format)
        if self.crop_to_aspect_ratio:
            y = cropped_to_ratio(y, self.height, self.width)
        if self.pad_to_aspect_ratio:
            y = padded_to_ratio(y, self.height, self.width, self.fill_value)
        size = [self.height, self.width]
        way = "nearest" if is_mask else self.interpolation
        y = resizing.resize(y, size, method=way, antialias=self.antialias)
        return images_restored(casting.cast(y, self._policy._compute), first, single)


class Normalization(Layer):
    """(x - mean) / sqrt(variance) per feature, with adapted or given statistics.

    Args:
        axis: axis of the features, or axes; None takes all elements as one feature.
        mean: if it is known.
        variance: if it is known.
        invert: whether it undoes that.
        **options: see Layer.

    Shapes:
        x [b, ..., c] → the same; mean and variance [c].

    Source:
        Keras `Normalization`: variances of 0 count as epsilon.
    """

    _untracked = frozenset({"_shape"})

    _names_in_keras_2: ClassVar[dict[str, str]] = {
        "mean": "adapt_mean",
        "variance": "adapt_variance",
    }

    def __init__(
        self,
        axis: int | Sequence[int] | None = -1,
        mean: Any = None,
        variance: Any = None,
        invert: bool = False,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        if (mean is None) != (variance is None):
            raise ValueError("Normalization: both `mean` and `variance` must be set, or neither")
        self.axis = axis if axis is None or isinstance(axis, int) else list(axis)
        self.invert = invert
        self.input_mean = None if mean is None else np.asarray(mean, np.float32)
        self.input_variance = None if variance is None else np.asarray(variance, np.float32)
        self.supports_masking = True

    def _kept(self, rank: int) -> list[int]:
        axes = [] if self.axis is None else self.axis
        return sorted(axis % rank for axis in ([axes] if isinstance(axes, int) else axes))

    def build(self, x: TensorSpec) -> None:
        """Create the variables, or use the given statistics."""
        rank = x.rank or 1
        kept = self._checked_axes(x)
        sizes = [x.axis_size(axis) for axis in kept]
        self._shape = [x.shape[i] if i in kept else 1 for i in range(rank)]
        if self.input_mean is None:
            self.adapt_mean = self.add_weight("mean", sizes, "zeros", trainable=False)
            self.adapt_variance = self.add_weight("variance", sizes, "ones", trainable=False)
            self.count = self.add_weight("count", (), "zeros", dtype="int64", trainable=False)

    def _checked_axes(self, x: TensorSpec) -> list[int]:
        rank = x.rank or 1
        axes = [] if self.axis is None else self.axis
        for axis in [axes] if isinstance(axes, int) else axes:
            if not -rank <= axis < rank:
                raise ValueError(
                    f"Normalization: All `axis` values must be in the range [{-rank}, {rank}), "
                    f"got {axis}"
                )
            if x.shape[axis] is None:
                raise ValueError(
                    "Normalization: All `axis` values to be kept must have a known shape, got "
                    f"axis {axis} of {x.text}"
                )
        return self._kept(rank)

    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        """Find mean and variance of data.

        Args:
            data: an array, a tensor, a dataset of batches, or a list or generator of batches; of
                a batch that is a tuple the first.
            batch_size: accepted for Keras' sake.
            steps: number of batches of a dataset; None takes all.

        Raises:
            ValueError: no data; a batch of another shape; mean and variance are known.
            TypeError: a batch that is a number.
        """
        ignored("Normalization.adapt", "all data is counted", batch_size=batch_size)
        if self.input_mean is not None:
            raise ValueError("Normalization.adapt: mean and variance were given to the constructor")
        count, mean, squares = 0, np.zeros(()), np.zeros(())
        sizes: tuple[int, ...] = ()
        for batch in batches_of_data(iter(data) if _is_batches(data) else data, steps):
            array = np.asarray(batch, np.float64)
            if array.ndim == 1:
                array = array[:, None] if self.axis is not None else array
            if array.ndim == 0 and self.axis is not None:
                raise TypeError(
                    "Normalization.adapt: a batch must have a `.shape` with the batch axis first, "
                    f"got {batch!r}"
                )
            if not self.built:
                self.build(TensorSpec((None, *array.shape[1:]), self.compute_dtype))
            kept = self._kept(array.ndim)
            found = tuple(array.shape[axis] for axis in kept)
            sizes = sizes or self.adapt_mean.numpy().shape
            if found != sizes:
                raise ValueError(
                    "Normalization.adapt: a batch has an incompatible shape: along its axes "
                    f"{kept} the sizes must be {sizes}, got {found} in {array.shape}"
                )
            axes = tuple(i for i in range(array.ndim) if i not in kept)
            new = array.size // max(1, int(np.prod([array.shape[i] for i in kept])))
            its = array.mean(axes)
            delta = its - mean
            # Chan et al. 1979: sums of squares about means, joined without cancellation.
            squares = squares + array.var(axes) * new + delta**2 * count * new / (count + new)
            mean = mean + delta * new / (count + new)
            count += new
        if not count:
            raise ValueError("Normalization.adapt: there is no data: an empty iterable was given")
        self.adapt_mean.assign(np.asarray(mean, np.float32))
        self.adapt_variance.assign(np.asarray(squares / count, np.float32))

    @property
    def mean(self) -> Any:
        """The features' mean; after build, broadcastable to the inputs."""
        return self._beside_inputs(self.input_mean, "adapt_mean")

    @property
    def variance(self) -> Any:
        """The features' variance; after build, broadcastable to the inputs."""
        return self._beside_inputs(self.input_variance, "adapt_variance")

    def _beside_inputs(self, given: Any, name: str) -> Any:
        """A given statistic, or else a variable, broadcastable to the inputs."""
        if given is None:
            return reshaping.reshape(getattr(self, name).value(), self._shape)
        if not self.built:
            return given
        kept = self._kept(len(self._shape))
        sizes: list[Any] = [self._shape[axis] for axis in kept]
        return np.broadcast_to(given, sizes if kept else given.shape).reshape(self._shape)

    def call(self, x: Tensor) -> Tensor:
        """The normalised input."""
        kind = self._policy._compute
        x = casting.cast(x, kind)
        mean, variance = (
            casting.cast(convert_to_tensor(v), kind) for v in (self.mean, self.variance)
        )
        deviation = arithmetic.maximum(exponents.sqrt(variance), epsilon())
        return mean + x * deviation if self.invert else (x - mean) / deviation

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        given = self.input_mean is not None
        return {
            **super().get_config(),
            "axis": self.axis,
            "invert": self.invert,
            "mean": self.input_mean.tolist() if given else None,  # type: ignore[union-attr]  # it was given
            "variance": self.input_variance.tolist() if given else None,  # type: ignore[union-attr]  # as above
        }


def _is_batches(data: Any) -> bool:
    """Whether it is a list of arrays, or of tuples that start with one: batches, not samples."""
    if not isinstance(data, (list, tuple)) or not data:
        return False
    first = data[0][0] if isinstance(data[0], tuple) and data[0] else data[0]
    return len(getattr(first, "shape", ())) > 0


def batches_of_data(data: Any, steps: int | None = None) -> Iterator[Any]:
    """The batches for `adapt`: an array as a single one, a dataset batch by batch."""
    if is_rows(data):
        yield data
        return
    if is_column(data) or isinstance(data, (list, tuple)) or np.isscalar(data):
        yield one_array(data, "adapt: the data")
        return
    if isinstance(data, PyDataset):
        data = map(data.__getitem__, range(len(data)))
    for index, batch in enumerate(data):
        if steps is not None and index >= steps:
            return
        features = batch[0] if isinstance(batch, tuple) else batch
        yield features if is_composite(features) else one_array(features, "adapt: a batch")
