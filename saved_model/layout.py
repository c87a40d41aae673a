"""File names in a SavedModel folder, and names in its messages."""

from __future__ import annotations

from pathlib import Path

MODEL_FILE = "saved_model.pb"
MODEL_TEXT_FILE = "saved_model.pbtxt"
ASSETS_FOLDER = "assets"
EXTRA_ASSETS_FOLDER = "assets.extra"
_FINGERPRINT_FILE = "fingerprint.pb"
_VARIABLES = "variables"
# The files and folders of a model.
OWN_NAMES = frozenset(
    {
        *(MODEL_FILE, MODEL_TEXT_FILE, ASSETS_FOLDER, EXTRA_ASSETS_FOLDER, _VARIABLES),
        *(_FINGERPRINT_FILE, "keras_metadata.pb"),
    }
)

SCHEMA_VERSION = 1
SERVE = "serve"  # the tag of a graph that answers requests
DEFAULT_SIGNATURE = "serving_default"
INIT_SIGNATURE = "__saved_model_init_op"
INIT_COLLECTION = "saved_model_main_op"
LEGACY_INIT_COLLECTION = "legacy_init_op"
TABLE_INITIALIZERS = "table_initializer"
LOCAL_VARIABLES = "local_variables"
TRAIN_SIGNATURE = "__saved_model_train_op"
# The child of the root that holds the signatures.
SIGNATURES = "signatures"
# Children of a table: functions that create, fill and destroy it.
CREATE, INITIALIZE, DESTROY = "_create_resource", "_initialize", "_destroy_resource"


def model_path(folder: str | Path) -> Path:
    """The file of messages."""
    return Path(folder, MODEL_FILE)


def fingerprint_path(folder: str | Path) -> Path:
    """The file of hashes of the other files."""
    return Path(folder, _FINGERPRINT_FILE)


def variables_prefix(folder: str | Path) -> Path:
    """The bundle of variables, without the endings of its files."""
    return Path(folder, _VARIABLES, _VARIABLES)


def asset_path(folder: str | Path, name: str) -> Path:
    """The path of an asset."""
    return Path(folder, ASSETS_FOLDER, name)
