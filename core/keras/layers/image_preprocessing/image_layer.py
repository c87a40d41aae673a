"""The base class of image augmentation layers: one random transformation for all entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Tensor
from pinnace.keras import ops, random
from pinnace.keras.image_format import checked_format
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.keras.layers.followed import refuse_boxes
from pinnace.keras.seeds import SeedGenerator
from pinnace.ops.array import joining

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class ImageLayerOptions(LayerOptions, total=False):
    """The arguments that every layer of images takes.

    bounding_box_format: stored in files; boxes are not transformed.
    """

    bounding_box_format: str | None


class ImageLayer(Layer):
    """Transforms images [batch, height, width, channels], or a single image.

    It takes images, or a dict with "images" and optionally "labels" and "segmentation_masks", and
    returns the same. A subclass defines `transform_images`, and `get_random_transformation` if it
    is random; labels and masks are unchanged by default.

    Args:
        data_format: "channels_last" (if None) or "channels_first".
        seed: seed of the draws; None takes one from the global seed.
        bounding_box_format: kept for files; boxes do not follow images here.
        **options: see Layer.
    """

    _draws_seeds = True  # whether it has a generator

    def __init__(
        self,
        data_format: str | None = None,
        seed: int | None = None,
        bounding_box_format: str | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self.data_format = checked_format(type(self).__name__, data_format)
        self.bounding_box_format = bounding_box_format
        if self._draws_seeds:
            self.seed = seed
            self.generator = SeedGenerator(seed)
        self._build_at_init()

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """A random transformation of a batch; None for none.

        Args:
            data: images, or the dict that has them.
            training: whether anything is done.
            seed: a number or a `SeedGenerator`; the layer's own if None.
        """
        del data, training, seed

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Tensor:
        """Images after a transformation.

        Args:
            images: [batch, height, width, channels], or channels first.
            transformation: the result of `get_random_transformation`.
            training: whether anything is done.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define transform_images")

    def transform_labels(self, labels: Any, transformation: Any, training: bool = True) -> Any:
        """Labels [batch, ...] after a transformation."""
        del transformation, training
        return labels

    def transform_segmentation_masks(
        self, segmentation_masks: Any, transformation: Any, training: bool = True
    ) -> Any:
        """Masks [batch, height, width, channels] after a transformation."""
        del transformation, training
        return segmentation_masks

    def transform_single_image(
        self, image: Any, transformation: Any, training: bool = True
    ) -> Tensor:
        """One image, transformed as a batch of one."""
        return _single(self.transform_images, image, transformation, training)

    def transform_single_label(
        self, label: Any, transformation: Any, training: bool = True
    ) -> Tensor:
        """The label of one image after a transformation of a batch of one."""
        return _single(self.transform_labels, label, transformation, training)

    def transform_single_segmentation_mask(
        self, segmentation_mask: Any, transformation: Any, training: bool = True
    ) -> Tensor:
        """The mask of one image after a transformation of a batch of one."""
        way = self.transform_segmentation_masks
        return _single(way, segmentation_mask, transformation, training)

    def call(self, data: Any, training: bool = True) -> Any:
        """The transformed images, with labels, masks and other entries."""
        images = images_of(data)
        rank = images.shape.rank
        if rank not in {3, 4}:
            raise ValueError(
                f"{self._described()}: Expected the input image to be rank 3 or 4. Expected image "
                "tensor to have rank 3 (single image) or 4 (batch of images), got shape "
                f"{images.shape.text}"
            )
        drawn = self.get_random_transformation(data, training=training)
        if rank == 3:
            changed = self.transform_single_image(images, drawn, training=training)
        else:
            changed = self.transform_images(images, drawn, training=training)
        if not isinstance(data, dict):
            return changed
        return {**data, "images": changed, **self._followed(data, drawn, rank == 3, training)}

    def _followed(
        self, data: dict[str, Any], drawn: Any, single: bool, training: bool
    ) -> dict[str, Any]:
        found: dict[str, Any] = {}
        refuse_boxes(self._described(), data)
        ways: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
            "labels": (self.transform_single_label, self.transform_labels),
            "segmentation_masks": (
                self.transform_single_segmentation_mask,
                self.transform_segmentation_masks,
            ),
        }
        for name, (one, several) in ways.items():
            if name in data:
                way = one if single else several
                found[name] = way(convert_to_tensor(data[name]), drawn, training=training)
        return found

    @property
    def _axes(self) -> tuple[int, int, int]:
        """The axes of height, width and channels, counted from the end."""
        return (-3, -2, -1) if self.data_format == "channels_last" else (-2, -1, -3)

    def _size(self, data: Any) -> tuple[Any, Any]:
        """Height and width of the images."""
        sizes = ops.shape(images_of(data))
        return sizes[self._axes[0]], sizes[self._axes[1]]

    def _computed(self, x: Any) -> Tensor:
        """`x` in the layer's compute dtype."""
        return ops.cast(x, self.compute_dtype)

    def _uniform(
        self, shape: Sequence[Any], low: float, high: float, seed: Any, dtype: Any = None
    ) -> Tensor:
        """Uniformly distributed numbers in [low, high)."""
        return random.uniform(as_shape(shape), low, high, dtype, self._drawn_from(seed))

    def _drawn_from(self, seed: Any) -> Any:
        return self.generator if seed is None else seed

    def _chosen(self, data: Any, factor: tuple[float, float], seed: Any) -> Tensor:
        """Whether each image is transformed, [batch]; `factor` is the range of the probability."""
        count = [batch_size(data)]
        probability = self._uniform(count, factor[0], factor[1], seed)
        return self._uniform(count, 0.0, 1.0, seed) < probability


def _single(way: Callable[..., Any], x: Any, transformation: Any, training: bool) -> Tensor:
    found = way(ops.expand_dims(x, 0), transformation, training=training)
    return ops.squeeze(found, 0)


def images_of(data: Any) -> Tensor:
    """The images: the entry of a dict, or the data itself."""
    found: Tensor = convert_to_tensor(data["images"] if isinstance(data, dict) else data)
    return found


def batch_size(data: Any) -> Any:
    """The number of images, 1 without a batch axis: an int, or a tensor if unknown."""
    images = images_of(data)
    return 1 if images.shape.rank == 3 else ops.shape(images)[0]


def per_image(x: Tensor) -> Tensor:
    """[batch] as [batch, 1, 1, 1]."""
    return ops.reshape(x, [-1, 1, 1, 1])


def as_shape(sizes: Sequence[Any]) -> Any:
    """Sizes, some possibly tensors, in the form that random functions accept."""
    if any(isinstance(n, Tensor) for n in sizes):
        return joining.stack([*sizes])
    return [*sizes]


def ranged(images: Tensor, old: Sequence[float], new: Sequence[float]) -> Tensor:
    """Images with values mapped from one range to another."""
    if list(old) == list(new):
        return images
    shares = (images - old[0]) / (old[1] - old[0])
    return shares * (new[1] - new[0]) + new[0]
