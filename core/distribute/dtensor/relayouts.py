"""What the layout of a Relayout amounts to."""

from __future__ import annotations

import functools

from pinnace.distribute.dtensor.layout import MATCH, UNSHARDED, Layout

_parsed = functools.lru_cache(256)(Layout.from_string)


def target(text: str | bytes, given: Layout | None, rank: int | None) -> Layout:
    """The layout that a tensor has after a Relayout.

    Args:
        text: the op's attribute `layout`.
        given: the tensor's layout before, None if it had none.
        rank: its number of axes, None if it is not known.
    """
    layout = _parsed(text.decode() if isinstance(text, bytes) else text)
    if MATCH in layout.specs:
        before = given.specs if given is not None else (UNSHARDED,) * layout.rank
        specs = [
            (before[axis] if axis < len(before) else UNSHARDED) if spec == MATCH else spec
            for axis, spec in enumerate(layout.specs)
        ]
        layout = Layout(specs, layout.mesh)
    if rank is not None and rank != layout.rank and layout.is_fully_replicated():
        return Layout.replicated(layout.mesh, rank)
    return layout
