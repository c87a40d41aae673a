"""A model's weights from a checkpoint, which must contain exactly these."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from pinnace.framework.listing import first_of

if TYPE_CHECKING:
    from pinnace.checkpoint.checkpoint import Checkpoint
    from pinnace.checkpoint.restoring import Restoration
    from pinnace.keras.models.model import Model

# Children of models and layers that are no weights, in Keras 2, Keras 3 and here.
_APART = frozenset(
    [
        *("optimizer", "_optimizer", "save_counter", "keras_api", "loss_tracker", "_loss_tracker"),
        *("_metrics", "_compile_metrics", "compiled_metrics", "_compile_loss", "_losses"),
        *("seed_generator", "_seed_generators", "_random_generator", "_state", "count"),
    ]
)
_LISTED = 8


def check_built(model: Model) -> None:
    """Raise for a model without weights.

    Raises:
        ValueError: the model is not built.
    """
    if not model.built:
        raise ValueError(
            f"load_weights: {model.name!r} has no weights before it is built\n"
            "  Try: call it on data, or build(shape)"
        )


def read_checkpoint(
    model: Model, checkpoint: Checkpoint, path: str, who: str, remedy: str, *, partly: bool = False
) -> Restoration:
    """Read a checkpoint that has all weights of a model and no others, or leave it as it was.

    Args:
        model: the model with the weights.
        checkpoint: has the model as its root, or in it.
        path: path of the checkpoint.
        who: beginning of messages.
        remedy: ends it.
        partly: whether weights that only one side has are left out, with a warning.

    Raises:
        ValueError: weights without a value, or values without a weight.
        InvalidArgumentError: a value does not fit.
    """
    kept = getattr(getattr(model, "optimizer", None), "variables", ())
    before = [(one, one.value()) for one in (*model.weights, *kept)]
    try:
        status = checkpoint.read(path)
        _check_whole(model, status, path, who, remedy, partly=partly)
    except Exception:
        for one, value in before:
            one.assign(value)
        raise
    return status


def _check_whole(
    model: Model, status: Restoration, path: str, who: str, remedy: str, *, partly: bool
) -> None:
    """Raise for a checkpoint that lacks weights of a model, or has others.

    Layers that are not built yet get their values later in a model tracked by attributes; Keras 2's
    format numbers the layers with weights, which are unknown until layers are built.

    Raises:
        ValueError: weights without a value, or values without a weight.
    """
    own = {id(weight) for weight in model.weights}
    missing = [name for name, found in status.missing() if id(found) in own]
    lost = status.lost(_APART)
    if model._lists_layers and "layer_with_weights-0" in status.stored_names:
        check_built(model)
    told = [
        f"  {what} ({len(names)}): {first_of(names, _LISTED)}"
        for what, names in (
            ("weights of the model without a value in it", missing),
            ("its values without a weight in the model", lost),
        )
        if names
    ]
    if not told:
        return
    status.expect_partial()  # mismatches are reported below
    text = "\n".join([f"{who}: checkpoint {path!r} is not that of {model.name!r}", *told])
    if partly:
        warnings.warn(text, stacklevel=6)
        return
    raise ValueError(f"{text}\n  Try: {remedy}")
