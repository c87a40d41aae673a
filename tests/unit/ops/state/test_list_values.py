"""Lists of tensors: every version is the Python list that the same steps make."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import pinnace as tf
from pinnace.framework.shapes import Shape
from pinnace.ops.state.list_values import TensorList, list_of_rows

# An element in the model: its number, or None if it was never set.
Model = list[float | None]
STEPS = ("set", "push", "pop", "extended", "shortened", "replaced", "repeated", "rows")


def _rows(first: int, count: int) -> np.ndarray:
    return np.arange(first, first + count, dtype=np.float32).reshape(count, 1)


def _step(
    data: st.DataObject, kind: str, value: TensorList, model: Model, number: int
) -> tuple[TensorList, Model]:
    """A step on a version and on its model; a list if an empty version cannot take the step."""
    length = len(model)
    count = data.draw(st.integers(0, 4))
    if kind == "push":
        return value.changed({length: _rows(number, 1)[0]}, length + 1), [*model, float(number)]
    if kind == "extended":
        rows = _rows(number, count)
        return value.extended(rows), [*model, *rows[:, 0].tolist()]
    if kind == "repeated":
        return value.repeated(_rows(number, 1)[0], count), [*model, *[float(number)] * count]
    if kind == "rows" or not length:
        rows = _rows(number, count)
        return list_of_rows(rows, tf.float32, Shape([1])), list(rows[:, 0].tolist())
    if kind == "pop":
        rest, item = value.popped()
        assert (None if item is None else float(item[0])) == model[-1]
        return rest, model[:-1]
    if kind == "shortened":
        return value.shortened(count % length), model[: count % length]
    places = data.draw(st.sets(st.integers(0, length - 1), min_size=1))
    if kind == "set":
        place = min(places)
        made = value.changed({place: _rows(number, 1)[0]}, length)
        return made, [float(number) if n == place else one for n, one in enumerate(model)]
    chosen = set(range(length)) if data.draw(st.booleans()) else places
    made = value.replaced(chosen, _rows(number, length))
    return made, [float(number + n) if n in chosen else one for n, one in enumerate(model)]


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_every_version_is_the_list_that_its_steps_make(data: st.DataObject) -> None:
    versions: list[tuple[TensorList, Model]] = [
        (TensorList(tf.float32, Shape([1]), 3, {}), [None] * 3),
        (list_of_rows(_rows(100, 3), tf.float32, Shape([1])), [100.0, 101.0, 102.0]),
    ]
    for number in range(data.draw(st.integers(1, 25))):
        value, model = data.draw(st.sampled_from(versions))
        kind = data.draw(st.sampled_from(STEPS))
        versions.append(_step(data, kind, value, model, number))
        seen, wanted = data.draw(st.sampled_from(versions))
        _check(seen, wanted)
    for seen, wanted in versions:
        _check(seen, wanted)


def _check(seen: TensorList, wanted: Model) -> None:
    assert seen.length == len(wanted)
    there = {place: one for place, one in enumerate(wanted) if one is not None}
    assert {place: float(item[0]) for place, item in seen.snapshot().items()} == there
    assert seen.snapshot_size() == len(there)
    for place in range(-1, len(wanted) + 1):
        item = seen.get(place)
        assert (None if item is None else float(item[0])) == there.get(place)
    stacked = seen.stacked((1,))
    assert stacked is not None
    np.testing.assert_array_equal(stacked[:, 0], [one or 0 for one in wanted])
    assert seen.stacked((2,)) is None or not there
