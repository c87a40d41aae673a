"""Finds the networks of a plan: their steps, inputs and outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.networks.blocks import split_of
from pinnace.engine.networks.reading import Reader
from pinnace.engine.networks.region import Network
from pinnace.engine.networks.steady import find_assigned, find_steady, roots_of
from pinnace.engine.steps import PlainPart
from pinnace.ops.kernels import team
from pinnace.ops.math.einstein import EINSUM
from pinnace.ops.math.products import BATCH_MAT_MUL_V2, MAT_MUL

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pinnace.engine.networks.layers import Layer
    from pinnace.engine.steps import Step
    from pinnace.graph.graph import Value

    Sizes = Mapping[Value, tuple[int, ...]]

# Multiplications from which a network with only one product pays off.
_WORTH = 1 << 20
# Most readings of the steps, repeated if a value cannot be a view of another.
_MOST_TURNS = 8
_OF_MATRICES = frozenset({MAT_MUL, BATCH_MAT_MUL_V2, EINSUM})


def find(
    steps: Sequence[Step],
    sizes: Sizes,
    results: Sequence[Value],
    settled: Collection[Value],
    variables: Collection[Value],
) -> list[Network]:
    """The networks in a plan.

    Args:
        steps: the plan's steps.
        sizes: the shape of each value, where it is known.
        results: the plan's results.
        settled: values whose steps are omitted.
        variables: arguments that are variables whose values do not change.
    """
    assigned = find_assigned(steps)
    if assigned is None:
        return []
    kept = set(variables) - assigned
    if assigned and not kept:
        return []
    search = _Search(steps, sizes, results, settled, kept)
    readers = [part for reader in search.sound_readers() for part in search.parts(reader)]
    made = [network for network in map(search.network, readers) if network is not None]
    # In a training step, only networks with weights that are not trained: a frozen trunk.
    return [one for one in made if not assigned or not kept.isdisjoint(one.cluster.inputs)]


class _Search:
    """The search in one plan; see `find`."""

    def __init__(
        self,
        steps: Sequence[Step],
        sizes: Sizes,
        results: Sequence[Value],
        settled: Collection[Value],
        variables: Collection[Value],
    ) -> None:
        self._steps = steps
        self._sizes = sizes
        self._variables = variables
        self._steady = find_steady(steps, variables)
        self._refused: set[Value] = set()
        self._barriers: set[int] = set()
        # Places of steps that always run.
        self._places = [
            place
            for place, step in enumerate(steps)
            if not step.node.outputs or not all(one in settled for one in step.node.outputs)
        ]
        self._running = frozenset(self._places)
        self._uses: dict[Value, list[int]] = {value: [-1] for value in results}
        for place in self._places:
            for value in steps[place].node.inputs:
                self._uses.setdefault(value, []).append(place)

    def sound_readers(self) -> list[Reader]:
        """Read the steps so that no value that is stored as part of another is needed by itself.

        Nor is any value needed before its network has run.
        """
        for _ in range(_MOST_TURNS):
            found = self.readers()
            missed = {value for reader in found for value in self._missed(reader)}
            early = {place for reader in found for place in self._early(reader)}
            if not missed and not early:
                break
            self._refused |= missed
            self._barriers |= early
        return found

    def _early(self, reader: Reader) -> list[int]:
        """Places of other steps that need one of its values before the network's last step."""
        members = set(reader.members)
        end = max(members, default=-1)
        takers = {at for value in reader.made for at in self._uses.get(value, ())}
        return [at for at in takers if 0 <= at < end and at not in members]

    def _missed(self, reader: Reader) -> list[Value]:
        """Parts of other values that others need, or that the network computes only in part."""
        members = set(reader.members)
        return [
            value
            for value in reader.strided
            if any(at not in members for at in self._uses.get(value, ()))
            or (value in reader.destined and reader.strided[value].base not in reader.made)
        ]

    def readers(self) -> list[Reader]:
        """Read the steps; a reader ends where another step needs its values."""
        found = [self._reader()]
        for place in self._places:
            node = self._steps[place].node
            if node.outputs and all(value in self._steady for value in node.outputs):
                continue
            if found[-1].read(place):
                continue
            if any(value in found[-1].made for value in node.inputs):
                found.append(self._reader({at for one in found for at in one.members}))
                found[-1].read(place)
        return found

    def parts(self, reader: Reader) -> list[Reader]:
        """The reader, or two for its halves, if the first half runs better in blocks."""
        place = split_of(reader, team.size())
        if place is None:
            return [reader]
        parts = [self._reader(), self._reader()]
        for member in sorted(reader.members):
            if not parts[member >= place].read(member):
                return [reader]
        if parts[0].end >= place:
            return [reader]  # a layer has steps in both halves
        return parts if all(map(_is_worth_it, parts)) else [reader]

    def _reader(self, taken: Collection[int] = ()) -> Reader:
        steady = {*self._steady, *self._variables}  # handles: the variables are constant
        refused = frozenset(self._refused)
        steps, sizes, barriers = self._steps, self._sizes, frozenset(self._barriers)
        return Reader(steps, sizes, steady, self._uses, self._running, refused, taken, barriers)

    def network(self, reader: Reader) -> Network | None:
        """The network of a reader; None if it does not pay off, or is impossible."""
        if not _is_worth_it(reader) or self._early(reader):
            return None
        members = set(reader.members)
        for padded in reader.padded:
            if any(at not in members for at in self._uses.get(padded, ())):
                reader.write_padded(padded)  # a layer of another network reads it
        outputs = [
            value
            for place in sorted(members)
            for value in self._steps[place].node.outputs
            if any(at not in members for at in self._uses.get(value, ()))
        ]
        if any(value in reader.strided for value in outputs):
            return None  # it has no contiguous form
        tensors, weights = self._wanted(reader, members)
        self._take_unread(members, {*self._steady, *reader.passed}.difference(tensors))
        part = PlainPart(sorted(members), [*tensors, *roots_of(weights, self._variables)], outputs)
        products = sum(_work(layer, reader) for layer in reader.layers if layer.is_product)
        return Network(reader, part, len(tensors), self._sizes, products)

    def _wanted(self, reader: Reader, members: Collection[int]) -> tuple[list[Value], list[Value]]:
        """The inputs and the constant values that layers read."""
        made = {value for place in members for value in self._steps[place].node.outputs}
        tensors: dict[Value, None] = {}
        weights: list[Value] = []
        for layer in reader.layers:
            weights += layer.steady()
            for value in layer.reads():
                if reader.root(value) not in made:
                    tensors[value] = None
        return list(tensors), weights

    def _take_unread(self, members: set[int], unread: Collection[Value]) -> None:
        """Include steps that are used only by the network, or that it makes redundant.

        Args:
            members: places of the network's steps; extended.
            unread: constant values, or values that layers do not need to read.
        """
        for place in reversed(self._places):
            node = self._steps[place].node
            if place in members or not node.outputs or node.outputs[0] not in unread:
                continue
            takers = {at for value in node.outputs for at in self._uses.get(value, ())}
            if takers and takers <= members:
                members.add(place)


def _is_worth_it(reader: Reader) -> bool:
    """Whether a table is faster than other regions; for a single matrix product it is not."""
    products = [layer for layer in reader.layers if layer.is_product]
    if len(products) != 1:
        return len(products) > 1
    (product,) = products
    return product.node.op not in _OF_MATRICES and _work(product, reader) >= _WORTH


def _work(layer: Layer, reader: Reader) -> int:
    """The number of multiplications of a product."""
    return reader.made_image(layer).pixels * reader.weight_count(layer)
