"""Variables for which a form was made: any assignment or replacement is noticed."""

import gc
from collections.abc import Callable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pinnace.engine.versions import Versions
from pinnace.framework.dtypes import float32
from pinnace.framework.shapes import Shape
from pinnace.framework.storage import Resource
from pinnace.ops.kernels.precision import Array


def _resource() -> Resource:
    made = Resource(float32, Shape([2]))
    made.write(np.zeros(2, np.float32))
    return made


def _handles(resources: list[Resource]) -> list[Array]:
    handles = [np.empty((), object) for _ in resources]
    for handle, one in zip(handles, resources, strict=True):
        handle[()] = one
    return handles


def _taken(one: Resource) -> None:
    value, _ = one.take(lambda _: False)
    one.give_back(value)


_WAYS: list[Callable[[Resource], None]] = [
    lambda one: one.write(np.ones(2, np.float32)),
    lambda one: one.update(np.add, np.ones(2, np.float32)),
    _taken,
]


@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(0, 3), st.sampled_from(_WAYS)), min_size=1, max_size=8
    )
)
def test_drawn_assignments(
    steps: list[tuple[bool, int, Callable[[Resource], None]]],
) -> None:
    watched, others = [_resource() for _ in range(4)], [_resource() for _ in range(4)]
    versions = Versions(_handles(watched))
    for is_of_others, number, assign in steps:
        assert versions.are_those_of(_handles(watched))
        assign((others if is_of_others else watched)[number])
        assert versions.are_those_of(_handles(watched)) is is_of_others
        if not is_of_others:
            versions = Versions(_handles(watched))
    assert not versions.are_those_of(_handles(others))
    assert not versions.are_those_of(_handles(watched[::-1]))


def test_new_variables_in_the_place_of_those_that_are_gone() -> None:
    gone = [_resource() for _ in range(100)]
    made_for = [Versions(_handles([one])) for one in gone]
    for one, versions in zip(gone, made_for, strict=True):
        assert versions.are_those_of(_handles([one]))
    del gone, one
    gc.collect()
    for other in [_resource() for _ in range(200)]:  # some of which reuse their memory
        assert not any(one.are_those_of(_handles([other])) for one in made_for)


def test_keys_are_equal_where_nothing_changed() -> None:
    watched = [_resource(), _resource()]
    before = Versions(_handles(watched)).key
    assert Versions(_handles(watched)).key == before
    watched[1].write(np.ones(2, np.float32))
    assert Versions(_handles(watched)).key != before
