"""`keras.preprocessing.image`: pictures from files and arrays."""

from pinnace.keras.pictures import array_to_img as array_to_img
from pinnace.keras.pictures import img_to_array as img_to_array
from pinnace.keras.pictures import load_img as load_img
from pinnace.keras.pictures import save_img as save_img
