"""Exporting the predictions of a trained model as a SavedModel."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinnace.estimator.export_outputs import signature_outputs
from pinnace.estimator.receivers import Receiving
from pinnace.framework.module import Module
from pinnace.functions.tracing import trace
from pinnace.saved_model.writing import save

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.estimator.building import BuiltModel
    from pinnace.framework.specs import TensorSpec
    from pinnace.functions.concrete import ConcreteFunction


class _Exported(Module):
    """Holds the variables of a model, under names that attributes can have."""

    def __init__(self, model: BuiltModel) -> None:
        super().__init__()
        self.model_variables = list(model.variables.by_name.values())


def export(
    build: Callable[[Any], BuiltModel],
    base: str,
    receiver_fn: Callable[[], Any],
    assets_extra: dict[str, str] | None,
) -> bytes:
    """Write a SavedModel into a new folder below `base`; gives its path.

    Args:
        build: features → model, with its values restored.
        base: the new folder is in there.
        receiver_fn: gives a ServingInputReceiver.
        assets_extra: place below `assets.extra` -> file to copy there.
    """
    receiving = Receiving(receiver_fn)
    features, _ = trace(_by_keyword(receiving), (), receiving.specs, "features")
    model = build(features.structured_outputs)
    signatures = {}
    for name in signature_outputs(model.spec):
        signatures[name] = _signature(name, features, model, receiving.specs)
    folder = _new_folder(Path(base))
    stage = folder.with_name(f"temp-{folder.name}")
    try:
        save(_Exported(model), stage, signatures)
        for place, source in (assets_extra or {}).items():
            target = _inside(stage / "assets.extra", place)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        stage.rename(folder)
    except BaseException:
        shutil.rmtree(stage, ignore_errors=True)
        raise
    return os.fsencode(folder)


def _by_keyword(receiving: Receiving) -> Callable[..., Any]:
    return lambda **request: receiving.features(request)


def _signature(
    name: str, features: ConcreteFunction, model: BuiltModel, specs: dict[str, TensorSpec]
) -> ConcreteFunction:
    """A function from a request to the outputs of one signature."""

    def serve(**request: Any) -> Any:
        tensors = [request[key] for key in sorted(request)]
        return model.run(features.call_flat(tensors), None)[name]

    concrete, _ = trace(serve, (), specs, name)
    concrete.by_name = True
    return concrete


def _new_folder(base: Path) -> Path:
    """`base/<seconds since 1970>`, or a later number if that exists."""
    base.mkdir(parents=True, exist_ok=True)
    number = int(time.time())
    while (base / str(number)).exists() or (base / f"temp-{number}").exists():
        number += 1
    return base / str(number)


def _inside(folder: Path, place: str) -> Path:
    target = (folder / place).resolve()
    if not target.is_relative_to(folder.resolve()):
        raise ValueError(f"assets_extra: {place!r} is outside of the folder")
    return target
