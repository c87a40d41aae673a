"""The namespace `keras.ops.image`: functions on images."""

from pinnace.keras.ops.image_colours import hsv_to_rgb as hsv_to_rgb
from pinnace.keras.ops.image_colours import rgb_to_grayscale as rgb_to_grayscale
from pinnace.keras.ops.image_colours import rgb_to_hsv as rgb_to_hsv
from pinnace.keras.ops.image_sizes import crop_images as crop_images
from pinnace.keras.ops.image_sizes import pad_images as pad_images
from pinnace.keras.ops.image_sizes import resize as resize
from pinnace.keras.ops.image_sizes import scale_and_translate as scale_and_translate
from pinnace.keras.ops.image_warps import affine_transform as affine_transform
from pinnace.keras.ops.image_warps import elastic_transform as elastic_transform
from pinnace.keras.ops.image_warps import map_coordinates as map_coordinates
from pinnace.keras.ops.image_warps import perspective_transform as perspective_transform
from pinnace.keras.ops.image_windows import extract_patches as extract_patches
from pinnace.keras.ops.image_windows import extract_patches_3d as extract_patches_3d
from pinnace.keras.ops.image_windows import gaussian_blur as gaussian_blur
from pinnace.keras.ops.image_windows import sobel_edges as sobel_edges
from pinnace.keras.ops.image_windows import ssim as ssim
