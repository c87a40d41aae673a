"""`keras.preprocessing`: texts, sequences and images before they reach a model."""

from pinnace.keras.folders import image_dataset_from_directory as image_dataset_from_directory
from pinnace.keras.folders import text_dataset_from_directory as text_dataset_from_directory
from pinnace.keras.preprocessing import image as image
from pinnace.keras.preprocessing import sequence as sequence
from pinnace.keras.preprocessing import text as text
from pinnace.keras.sequences import timeseries_dataset_from_array as timeseries_dataset_from_array
