"""Boxes around what images show: their formats, changes, overlaps and offsets."""

from pinnace.keras.bounding_boxes.changes import affine_transform as affine_transform
from pinnace.keras.bounding_boxes.changes import clip_to_image_size as clip_to_image_size
from pinnace.keras.bounding_boxes.changes import crop as crop
from pinnace.keras.bounding_boxes.changes import pad as pad
from pinnace.keras.bounding_boxes.deltas import decode_deltas_to_boxes as decode_deltas_to_boxes
from pinnace.keras.bounding_boxes.deltas import encode_box_to_deltas as encode_box_to_deltas
from pinnace.keras.bounding_boxes.formats import convert_format as convert_format
from pinnace.keras.bounding_boxes.overlaps import compute_ciou as compute_ciou
from pinnace.keras.bounding_boxes.overlaps import compute_iou as compute_iou
