"""keras.applications: EfficientNet, Inception, Xception, NASNet and ConvNeXt, as in Keras."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from oracle import comparing
from oracle.drawing import ASKED
from oracle.networks import ANSWER_S, Case, close, differ, exactly
from oracle.programs import applications, configured
from pinnace.keras.applications import convnext, efficientnet, efficientnet_v2, published

if TYPE_CHECKING:
    from pathlib import Path

    from oracle.peer import Peer

BARE = {"include_top": False}


def top(size: int, **more: Any) -> dict[str, Any]:
    return {"input_shape": [size, size, 3], "classes": 10, **more}


def logits(size: int) -> dict[str, Any]:
    return top(size, classifier_activation=None)


CASES = [
    Case("EfficientNetB0", logits(32), largest=255.0),
    Case("EfficientNetB0", {**BARE, "pooling": "avg"}, ".h5", 65, 255.0),
    Case("EfficientNetB0", {**BARE, "input_tensor": [64, 64, 3]}, ".keras", 64, 255.0),
    Case("EfficientNetB0", {**BARE, "input_shape": [40, 33, 1], "pooling": "max"}, ""),
    Case("EfficientNetB1", {**top(32), "name": "mine"}, ""),
    Case("EfficientNetB2", {**BARE, "pooling": "avg"}, ""),
    Case("EfficientNetB3", top(33), ""),
    Case("EfficientNetB4", {**BARE, "pooling": "max"}, ""),
    Case("EfficientNetB5", top(32), ""),
    Case("EfficientNetB6", {**BARE}, ""),
    Case("EfficientNetB7", top(32), ""),
    Case("Xception", logits(71), size=71),
    Case("Xception", {**BARE, "input_tensor": [72, 96, 3], "pooling": "max"}, ""),
    Case("Xception", {**BARE, "pooling": "avg"}, ".h5", size=84),
    Case("InceptionV3", logits(75), ".keras", size=75),
    Case("InceptionV3", {**BARE, "pooling": "avg"}, ".h5", size=90),
    Case("InceptionV3", {**BARE, "input_shape": [75, 80, 1], "pooling": "max"}, ""),
    Case("EfficientNetV2B0", logits(32), largest=255.0),
    Case("EfficientNetV2B0", {**BARE, "pooling": "avg"}, ".h5", 47, 255.0),
    Case("EfficientNetV2B0", {**top(32), "include_preprocessing": False}, ".keras"),
    Case("EfficientNetV2B0", {**BARE, "input_shape": [33, 40, 1], "pooling": "max"}, ""),
    Case("EfficientNetV2B1", top(32), ""),
    Case("EfficientNetV2B2", {**BARE, "pooling": "avg"}, ""),
    Case("EfficientNetV2B3", top(32), ""),
    Case("EfficientNetV2S", {**BARE, "pooling": "max"}, ".weights.h5", 32, 255.0),
    Case("EfficientNetV2M", top(32), ""),
    Case("EfficientNetV2L", BARE, ""),
    Case("ConvNeXtTiny", logits(32), ".keras", largest=255.0),
    Case("ConvNeXtTiny", {**BARE, "pooling": "avg"}, ".h5", 50, 255.0),
    Case("ConvNeXtTiny", {**logits(32), "include_preprocessing": False, "name": "mine"}),
    Case("ConvNeXtTiny", {**BARE, "input_shape": [32, 40, 1], "pooling": "max"}, ""),
    Case("ConvNeXtTiny", {**BARE, "input_tensor": [32, 40, 3]}, ""),
    Case("ConvNeXtSmall", {**BARE, "pooling": "max"}, ""),
    Case("ConvNeXtBase", top(32), ""),
    Case("ConvNeXtLarge", BARE, ""),
    Case("ConvNeXtXLarge", top(32), ""),
    Case("InceptionResNetV2", logits(75), size=75),
    Case("InceptionResNetV2", {**BARE, "pooling": "max"}, "", size=75),
    Case("NASNetMobile", logits(32), ".h5"),
    Case("NASNetMobile", {**BARE, "input_shape": [64, 64, 3], "pooling": "avg"}, size=64),
    Case("NASNetMobile", {**BARE, "input_tensor": [45, 37, 3], "pooling": "max"}, ""),
    Case("NASNetLarge", {**BARE, "input_shape": [32, 32, 3], "pooling": "avg"}, ""),
]


# The short form takes every eighth: most of the time is spent building networks in Keras.
@pytest.mark.parametrize("case", CASES[:: 8 if ASKED else 1], ids=str)
def test_a_network_is_configured_as_that_of_keras(case: Case, peer: Peer, tmp_path: Path) -> None:
    """Layers, calls, initializers, numbers of weights; and outputs, if weights are written."""
    path = str(tmp_path / f"file{case.ending}") if case.ending else ""
    x = case.pictures()
    given = [case.maker, json.dumps(case.keywords), path, x]
    facts, configuration, *theirs = ask(peer, "network", *given)
    tf.keras.utils.clear_session()
    keywords = {**case.keywords, "weights": path} if path else case.keywords
    with configured.blank(tf.keras, not path):
        model = applications.made(tf, case.maker, keywords)
    differ(json.loads(facts.item()), applications.facts_of(model, model._layers))
    ours = json.loads(model.to_json())["config"]
    assert differences(json.loads(configuration.item())["config"], ours) == []
    if path:
        exact = partial(exactly, case.maker, keywords, x)
        close(theirs[0], model(x, training=False).numpy(), exact)


# One of each family, with or without its top.
PUBLISHED = [
    ("EfficientNetB0", {}),
    ("Xception", {}),
    ("Xception", BARE),
    ("InceptionV3", {}),
    ("InceptionV3", BARE),
    ("EfficientNetV2B0", BARE),
    ("ConvNeXtTiny", {}),
    ("InceptionResNetV2", {}),
    ("InceptionResNetV2", BARE),
    ("NASNetMobile", {}),
    ("NASNetMobile", {**BARE, "pooling": "avg"}),
    ("NASNetLarge", {}),
    ("NASNetLarge", {**BARE, "input_shape": [331, 331, 3]}),
]


@pytest.mark.parametrize(("maker", "keywords"), PUBLISHED)
def test_published_weights_are_those_of_keras(
    maker: str, keywords: dict[str, Any], peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, facts = ask(peer, "published", maker, json.dumps(keywords))
    given: list[Any] = []

    def path_of(file: Any, *_: Any) -> str:
        given.extend([published.folder().name, file.name, file.url, file.md5])
        return ""

    monkeypatch.setattr(published, "path_of", path_of)
    monkeypatch.setattr(tf.keras.Model, "load_weights", lambda *_: None)
    tf.keras.utils.clear_session()
    with configured.blank(tf.keras, True):
        model = applications.made(tf, maker, {"weights": "imagenet", **keywords})
    assert given == json.loads(asked.item())
    differ(json.loads(facts.item()), applications.facts_of(model, model._layers))


def test_published_weights_of_every_member_have_the_digests_of_keras(peer: Peer) -> None:
    tables: dict[str, Any] = {
        "efficientnet": efficientnet.DIGESTS,
        "efficientnet_v2": efficientnet_v2.DIGESTS,
        "convnext": convnext.DIGESTS,
    }
    for module, table in tables.items():
        (found,) = ask(peer, "digests", module)
        theirs = {
            name.removeprefix("convnext_").lstrip("-"): tuple(both)
            for name, both in json.loads(found.item()).items()
        }
        assert table == theirs


def written_here(name: str, size: int) -> tuple[Any, Any]:
    """A network with all weights changed from their initial values, and images for it."""
    model = applications.made(tf, name, logits(size))
    configured.disturb_all(model)
    return model, Case(name, logits(size), size=size, largest=255.0).pictures()


@pytest.mark.parametrize(("name", "size"), [("ConvNeXtTiny", 32), ("InceptionResNetV2", 75)])
def test_keras_reads_files_of_layers_that_it_shows_nowhere(
    name: str, size: int, peer: Peer, tmp_path: Path
) -> None:
    model, x = written_here(name, size)
    path = tmp_path / "ours.keras"
    model.save(path)
    theirs, configuration = ask(peer, "read", str(path), x)
    close(theirs, model(x, training=False).numpy())
    ours = json.loads(model.to_json())["config"]
    assert differences(json.loads(configuration.item())["config"], ours) == []


def test_stochastic_depth_is_read_from_files_of_keras(peer: Peer, tmp_path: Path) -> None:
    path, x = str(tmp_path / "theirs.keras"), np.ones((4, 3), np.float32)
    (theirs,) = ask(peer, "dropped", path, x)
    model = tf.keras.models.load_model(path)
    close(theirs, model(x, training=False).numpy())
    assert model.layers[-1].drop_path_rate == 0.3


def differences(theirs: Any, ours: Any, place: str = "") -> list[str]:
    """Where two configurations differ; keys that are only in one of them are skipped."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        both = sorted(theirs.keys() & ours.keys())
        return [
            one for key in both for one in differences(theirs[key], ours[key], f"{place}.{key}")
        ]
    if place.endswith(".axis"):  # a number or a list of one
        theirs, ours = np.ravel(theirs).tolist(), np.ravel(ours).tolist()
    if place.endswith(".module"):  # Keras lists Sequential under both
        theirs, ours = (str(name).removesuffix(".models") for name in (theirs, ours))
    if isinstance(theirs, float) and isinstance(ours, float):  # the compute dtype of layers
        theirs, ours = np.float32(theirs), np.float32(ours)
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        pairs = enumerate(zip(theirs, ours, strict=True))
        return [one for i, (a, b) in pairs for one in differences(a, b, f"{place}[{i}]")]
    return [] if theirs == ours else [f"{place}: Keras' {theirs!r}, here {ours!r}"]


def ask(peer: Peer, program: str, *inputs: Any) -> list[Any]:
    """The result of a program of Keras' side; texts become tensors."""
    given = [np.array(one.encode(), object) if isinstance(one, str) else one for one in inputs]
    peer.send([{"program": ["configured", program], "inputs": given}])
    (theirs,) = peer.receive(ANSWER_S)
    assert not comparing.failed(theirs), theirs
    return list(theirs["values"])
