"""`keras.preprocessing.image`: loading, conversion and random transformation of images."""

from pinnace.keras.augmentation.affine import apply_affine_transform as apply_affine_transform
from pinnace.keras.augmentation.affine import random_rotation as random_rotation
from pinnace.keras.augmentation.affine import random_shear as random_shear
from pinnace.keras.augmentation.affine import random_shift as random_shift
from pinnace.keras.augmentation.affine import random_zoom as random_zoom
from pinnace.keras.augmentation.file_iterators import DirectoryIterator as DirectoryIterator
from pinnace.keras.augmentation.generator import ImageDataGenerator as ImageDataGenerator
from pinnace.keras.augmentation.iterators import Iterator as Iterator
from pinnace.keras.augmentation.iterators import NumpyArrayIterator as NumpyArrayIterator
from pinnace.keras.augmentation.shades import apply_brightness_shift as apply_brightness_shift
from pinnace.keras.augmentation.shades import apply_channel_shift as apply_channel_shift
from pinnace.keras.augmentation.shades import random_brightness as random_brightness
from pinnace.keras.augmentation.shades import random_channel_shift as random_channel_shift
from pinnace.keras.pictures import array_to_img as array_to_img
from pinnace.keras.pictures import img_to_array as img_to_array
from pinnace.keras.pictures import load_img as load_img
from pinnace.keras.pictures import save_img as save_img
from pinnace.keras.smart_resizing import smart_resize as smart_resize
