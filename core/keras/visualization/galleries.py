"""Images side by side, by Matplotlib."""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.extras import install_command
from pinnace.keras.visualization.drawn_boxes import draw_bounding_boxes
from pinnace.keras.visualization.drawn_masks import draw_segmentation_masks
from pinnace.keras.visualization.image_batches import image_batch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.framework.tensor import Array


def _matplotlib(who: str, part: str) -> Any:
    try:
        return importlib.import_module(f"matplotlib.{part}")
    except ImportError as error:
        raise ImportError(
            f"{who}: the `matplotlib` package is needed\n  Try: {install_command('plot')}"
        ) from error


def plot_image_gallery(
    images: Any,
    y_true: Any = None,
    y_pred: Any = None,
    label_map: Mapping[Any, str] | None = None,
    rows: int | None = None,
    cols: int | None = None,
    value_range: Sequence[float] = (0, 255),
    scale: float = 2,
    path: Any = None,
    show: bool | None = None,
    transparent: bool = True,
    dpi: int = 60,
    legend_handles: Any = None,
    data_format: str | None = None,
) -> None:
    """Plot images in rows and columns.

    Args:
        images: [batch, height, width, channels].
        y_true: labels that are written above them.
        y_pred: predicted labels that are written beside those.
        label_map: names by label; needed if there are labels.
        rows: how many; about the root of the number of images if None.
        cols: how many; as many as are needed if None.
        value_range: of the images.
        scale: size of an image, in inches.
        path: file that is written; None shows the figure instead.
        show: whether it is shown; if there is no `path` if None.
        transparent: whether the file has no background.
        dpi: pixels to an inch of the file.
        legend_handles: what Matplotlib makes a legend of.
        data_format: "channels_last" or "channels_first"; as the configuration says if None.

    Raises:
        ImportError: there is no Matplotlib.
        ValueError: both `path` and `show`, labels without `label_map`, or no batch.
    """
    who = "plot_image_gallery"
    if path is not None and show:
        raise ValueError(f"{who}: expects either `path` to be set, or `show` to be true")
    if (y_true is not None or y_pred is not None) and label_map is None:
        raise ValueError(
            f"{who}: If `y_true` or `y_pred` are provided, a `label_map` must also be provided."
        )
    batch = image_batch(who, images, data_format).astype(np.float32)
    low, high = value_range
    pictures = ((batch - low) / (high - low) * 255).astype(np.uint8)
    plt = _matplotlib(who, "pyplot")
    down = rows or math.ceil(math.sqrt(len(pictures)))
    across = cols or math.ceil(len(pictures) / down)
    figure, axes = plt.subplots(
        nrows=down,
        ncols=across,
        figsize=(across * scale, down * scale),
        frameon=False,
        layout="tight",
        squeeze=False,
        sharex="row",
        sharey="col",
    )
    if legend_handles is not None:
        figure.legend(handles=legend_handles, loc="lower center")
    for place, axis in enumerate(axes.ravel()):
        axis.axis("off")
        if place < len(pictures):
            axis.imshow(pictures[place])
            axis.margins(x=0, y=0)
            title = _title(place, y_true, y_pred, label_map or {})
            if title:
                axis.set_title(title, fontsize=8)
    if path is not None:
        plt.savefig(fname=path, pad_inches=0, bbox_inches="tight", transparent=transparent, dpi=dpi)
    elif show is None or show:
        plt.show()
    plt.close(figure)


def _title(place: int, y_true: Any, y_pred: Any, names: Mapping[Any, str]) -> str:
    parts = []
    for word, labels in (("Label", y_true), ("Pred", y_pred)):
        if labels is not None and place < len(labels):
            label = np.asarray(labels)[place].item()
            parts.append(f"{word}: {names.get(label, 'Unknown')}")
    return "  ".join(parts)


def plot_bounding_box_gallery(
    images: Any,
    bounding_box_format: str,
    y_true: dict[str, Any] | None = None,
    y_pred: dict[str, Any] | None = None,
    value_range: Sequence[float] = (0, 255),
    true_color: Sequence[int] = (0, 188, 212),
    pred_color: Sequence[int] = (255, 235, 59),
    line_thickness: int = 2,
    font_scale: float = 1.0,
    text_thickness: int | None = None,
    class_mapping: Mapping[int, str] | None = None,
    ground_truth_mapping: Mapping[int, str] | None = None,
    prediction_mapping: Mapping[int, str] | None = None,
    legend: bool = False,
    legend_handles: Any = None,
    rows: int | None = None,
    cols: int | None = None,
    data_format: str | None = None,
    **kwargs: Any,
) -> None:
    """Plot images with their boxes.

    Args:
        images: [batch, height, width, channels].
        bounding_box_format: see `keras.utils.bounding_boxes.convert_format`.
        y_true: boxes and labels; see `draw_bounding_boxes`.
        y_pred: predicted ones.
        value_range: of the images.
        true_color: of the boxes of `y_true`, from 0 to 255.
        pred_color: of the boxes of `y_pred`, from 0 to 255.
        line_thickness: of lines, in pixels.
        font_scale: size of names.
        text_thickness: of names, in pixels; `line_thickness` if None.
        class_mapping: names by label.
        ground_truth_mapping: names of `y_true`; `class_mapping` if None.
        prediction_mapping: names of `y_pred`; `class_mapping` if None.
        legend: whether a legend says which colour is which.
        legend_handles: what Matplotlib makes a legend of instead.
        rows: see `plot_image_gallery`.
        cols: see there.
        data_format: see there.
        **kwargs: what else `plot_image_gallery` takes.

    Raises:
        ImportError: there is no Matplotlib.
        ValueError: both `legend` and `legend_handles`.
    """
    who = "plot_bounding_box_gallery"
    if legend and legend_handles:
        raise ValueError(f"{who}: Only pass `legend` OR `legend_handles`")
    drawn: Array = image_batch(who, images, data_format)
    low, high = value_range
    drawn = np.clip((drawn.astype(np.float32) - low) / (high - low) * 255, 0, 255).astype(np.uint8)
    for boxes, color, names in (
        (y_true, true_color, ground_truth_mapping or class_mapping),
        (y_pred, pred_color, prediction_mapping or class_mapping),
    ):
        if boxes is not None:
            drawn = draw_bounding_boxes(
                drawn,
                boxes,
                bounding_box_format,
                names,
                color,
                line_thickness,
                text_thickness or line_thickness,
                font_scale,
                "channels_last",
            )
    if legend:
        patch = _matplotlib(who, "patches").Patch
        legend_handles = [
            patch(color=np.array(color) / 255.0, label=label)
            for color, label in ((true_color, "Ground Truth"), (pred_color, "Prediction"))
        ]
    plot_image_gallery(
        drawn,
        rows=rows,
        cols=cols,
        legend_handles=legend_handles,
        data_format="channels_last",
        **kwargs,
    )


def plot_segmentation_mask_gallery(
    images: Any,
    num_classes: int,
    value_range: Sequence[float] = (0, 255),
    y_true: Any = None,
    y_pred: Any = None,
    color_mapping: Mapping[int, Sequence[int]] | None = None,
    blend: bool = True,
    alpha: float = 0.8,
    ignore_index: int = -1,
    data_format: str | None = None,
    **kwargs: Any,
) -> None:
    """Plot each image in a row with its masks.

    Args:
        images: [batch, height, width, 3].
        num_classes: how many classes there are.
        value_range: of the images.
        y_true: masks; see `draw_segmentation_masks`.
        y_pred: predicted ones.
        color_mapping: colours by class, from 0 to 255.
        blend: whether the images shine through.
        alpha: the share of the colours.
        ignore_index: the class whose pixels stay as they are.
        data_format: "channels_last" or "channels_first"; as the configuration says if None.
        **kwargs: what else `plot_image_gallery` takes.

    Raises:
        ImportError: there is no Matplotlib.
        ValueError: there is no batch.
    """
    who = "plot_segmentation_mask_gallery"
    plain = image_batch(who, images, data_format)
    columns = [plain]
    for masks in (y_true, y_pred):
        if masks is not None:
            kinds = image_batch(who, masks, data_format).astype(np.int32)
            columns.append(
                draw_segmentation_masks(
                    plain, kinds, num_classes, color_mapping, alpha, blend, ignore_index,
                    "channels_last",
                )
            )  # fmt: skip
    beside = np.stack([np.asarray(part, np.float32) for part in columns], 1)
    plot_image_gallery(
        beside.reshape(-1, *plain.shape[1:]),
        rows=len(plain),
        cols=len(columns),
        value_range=value_range,
        data_format="channels_last",
        **kwargs,
    )
