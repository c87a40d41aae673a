"""The formats of `Model.export`: a SavedModel folder, or an ONNX file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinnace.keras.export.archive import ExportArchive
from pinnace.keras.models.saved_functions import exported_signatures
from pinnace.keras.saving.model_files import check_folder

if TYPE_CHECKING:
    from pinnace.keras.models.model import Model


def export_model(model: Model, filepath: str | Path, format: str, kwargs: dict[str, Any]) -> None:
    """Write the inference function of a model; see `Model.export`."""
    verbose = kwargs.pop("verbose", None)
    specs = kwargs.pop("input_signature", None)
    if format == "tf_saved_model":
        check_folder("Model.export", Path(filepath))
        if specs is None:
            model._write(str(filepath), False, kwargs)
            return
        archive = ExportArchive()
        archive.track_and_add_endpoint("serve", model, specs)
        archive.write_out(filepath, verbose=bool(verbose), **kwargs)
    elif format == "onnx":
        if (opset := kwargs.pop("opset_version", None)) is not None:
            kwargs["opset"] = opset
        if specs is None:
            signature = exported_signatures(model)["serve"]
        else:
            endpoint = ExportArchive().track_and_add_endpoint("serve", model, specs)
            signature = endpoint.get_concrete_function()
        from pinnace.deploy.onnx import export  # needs the package onnx

        export(signature, str(filepath), **kwargs)
    else:
        raise ValueError(
            f"Model.export: Unrecognized format={format!r}: it must be tf_saved_model or onnx"
        )
