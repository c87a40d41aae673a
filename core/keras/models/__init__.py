"""Models: groups of layers that can be trained and saved."""

from pinnace.keras.models.clone import clone_model as clone_model
from pinnace.keras.models.clone import model_from_json as model_from_json
from pinnace.keras.models.functional import Functional as Functional
from pinnace.keras.models.model import Model as Model
from pinnace.keras.models.sequential import Sequential as Sequential
from pinnace.keras.saving.whole_models import load_model as load_model
from pinnace.keras.saving.whole_models import save_model as save_model
