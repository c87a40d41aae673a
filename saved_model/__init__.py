"""SavedModels: an object and its functions to a folder and back."""

from pinnace.saved_model.assets import Asset as Asset
from pinnace.saved_model.options import LoadOptions as LoadOptions
from pinnace.saved_model.options import SaveOptions as SaveOptions
from pinnace.saved_model.reading import load as load
from pinnace.saved_model.writing import save as save
