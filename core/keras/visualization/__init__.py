"""Boxes and masks drawn into images, and images side by side."""

from pinnace.keras.visualization.drawn_boxes import draw_bounding_boxes as draw_bounding_boxes
from pinnace.keras.visualization.drawn_masks import (
    draw_segmentation_masks as draw_segmentation_masks,
)
from pinnace.keras.visualization.galleries import (
    plot_bounding_box_gallery as plot_bounding_box_gallery,
)
from pinnace.keras.visualization.galleries import plot_image_gallery as plot_image_gallery
from pinnace.keras.visualization.galleries import (
    plot_segmentation_mask_gallery as plot_segmentation_mask_gallery,
)
