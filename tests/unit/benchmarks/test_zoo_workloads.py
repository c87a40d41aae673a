"""The zoo has the workloads that users run."""

import pytest

from zoo import run, store, workloads
from zoo.network import BATCHES, ROWS
from zoo.workloads import CHANGING, FIXED, INFERENCE, LONG, NEIGHBOURS, TRAINING

FAMILIES = [
    *("ConvNeXt", "DenseNet", "EfficientNetB", "EfficientNetV2", "InceptionResNetV2"),
    *("InceptionV3", "MobileNet", "MobileNetV2", "MobileNetV3", "NASNet", "ResNet50"),
    *("ResNet50V2", "VGG16", "VGG19", "Xception"),
]


def test_there_are_sixty_networks_and_each_has_a_name_of_its_own() -> None:
    networks = {work.network for work in workloads.ordinary()}
    assert len(networks) >= 60
    every = [work.name for work in (*workloads.ordinary(), *workloads.special())]
    assert len(set(every)) == len(every)


def test_each_network_is_asked_for_one_row_and_for_many() -> None:
    for name in {work.network for work in workloads.ordinary()}:
        rows = {w.rows for w in workloads.ordinary() if w.network == name and w.kind == INFERENCE}
        assert rows == set(BATCHES), name


def test_every_family_of_applications_is_there() -> None:
    titles = [
        store.network(n).title for n, (f, _) in store.catalogue().items() if f == "applications"
    ]
    assert [f for f in FAMILIES if not any(title.startswith(f) for title in titles)] == []


def test_there_are_training_steps_and_special_runs() -> None:
    assert sum(work.kind == TRAINING for work in workloads.ordinary()) >= 20
    assert {work.special for work in workloads.special()} == {"", CHANGING, FIXED, LONG, NEIGHBOURS}


def test_short_runs_name_rows_that_exist() -> None:
    assert {work.name for work in run.choose(None, short=True)} == set(run.SHORT)


def test_ordinary_and_special_runs_are_told_apart() -> None:
    assert run.choose(None) == workloads.ordinary()
    assert run.choose(None, special=True) == workloads.special()
    assert not set(workloads.ordinary()) & set(workloads.special())


def test_batches_of_a_network_share_their_processes_and_special_runs_do_not() -> None:
    groups = run.together(run.choose(["unet"]))
    assert [[work.name for work in group] for group in groups] == [
        ["unet/b1", "unet/b32"],
        ["unet/train"],
        ["unet/train/neighbours"],
    ]


def test_inputs_are_drawn_alike_and_differ_by_row() -> None:
    import numpy as np

    for name, (_, network) in store.catalogue().items():
        first, second = (network.draw(np.random.default_rng(0), ROWS) for _ in range(2))
        for key, x in first.items():
            assert len(x) == ROWS, name
            np.testing.assert_array_equal(x, second[key])
        assert any((x[0] != x[1:]).any() for x in first.values()), name


def test_a_network_that_is_not_there_says_how_to_make_it(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(store, "CACHE", tmp_path)
    monkeypatch.delenv(store.TENSORFLOW_PYTHON, raising=False)
    with pytest.raises(
        RuntimeError, match="TensorFlow writes unet, and PINNACE_TF_PYTHON is not set"
    ):
        store.prepare(["unet"])
    assert not store.reachable(["unet"])


def test_a_changed_file_gives_its_models_another_folder(monkeypatch) -> None:
    before = store.folder("unet")
    monkeypatch.setattr(store, "sum_of", len)
    assert store.folder("unet") != before
    assert store.folder("unet").parent == before.parent
