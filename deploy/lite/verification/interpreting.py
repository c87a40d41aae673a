"""Runs of a file in ai-edge-litert's interpreter, with XNNPACK and without."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.errors import FailedPreconditionError, InternalError
from pinnace.framework.extras import install_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pinnace.framework.tensor import Array

# The ways to run a file: with the delegate that phones use by default, and without one.
WAYS = ("XNNPACK", "no delegate")


class Interpreter:
    """A file, loaded once and run on inputs of any sizes.

    Args:
        content: the file.
        way: one of WAYS.
        keeps_all: whether intermediate tensors can be read after a run.

    Raises:
        FailedPreconditionError: ai-edge-litert is not installed.
        InternalError: LiteRT does not load the file.
    """

    def __init__(self, content: bytes, way: str = WAYS[0], *, keeps_all: bool = False) -> None:
        try:
            from ai_edge_litert import interpreter as litert
        except ImportError as error:
            raise FailedPreconditionError(
                f"export: the check needs ai-edge-litert\n  Try: {install_command('lite')}, or "
                "export(..., verify=False)"
            ) from error
        self.way = way
        self._content = content
        self._litert: Any = litert
        self._keeps_all = keeps_all
        self._shapes: list[tuple[int, ...]] = []
        self._inner = self._opened()

    def _opened(self) -> Any:
        kinds = self._litert.OpResolverType
        kind = kinds.AUTO if self.way == WAYS[0] else kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        with _said() as said:
            try:
                return self._litert.Interpreter(
                    model_content=self._content,
                    experimental_op_resolver_type=kind,
                    experimental_preserve_all_tensors=self._keeps_all,
                    num_threads=1,
                )
            except Exception as error:
                raise self._refusal("does not load the file", error, said()) from error

    def signatures(self) -> dict[str, Any]:
        """Signature -> names of its inputs and outputs."""
        return dict(self._inner.get_signature_list())

    def run(self, feeds: Mapping[str, Array], key: str | None = None) -> dict[str, Array]:
        """Run a signature, and return its outputs by name.

        Args:
            feeds: inputs by name.
            key: the signature's name; None for the only one.

        Raises:
            InternalError: the run fails.
        """
        shapes = [array.shape for array in feeds.values()]
        if self._shapes not in ([], shapes) and self._inner.num_subgraphs() > 1:
            # LiteRT 2.3 with XNNPACK computes loops and branches from stale memory after a resize
            # beyond their previous size.
            self._inner = self._opened()
        self._shapes = shapes
        with _said() as said:
            try:
                runner = self._inner.get_signature_runner(key)
                found = runner(**{name: _given(array) for name, array in feeds.items()})
            except Exception as error:
                told = ", ".join(f"{name} {x.dtype}{list(x.shape)}" for name, x in feeds.items())
                raise self._refusal(f"fails on {told}", error, said()) from error
        return {name: np.array(array) for name, array in found.items()}

    def tensor(self, place: int) -> Array | None:
        """The value of a tensor of the first subgraph after a run; None if it has none."""
        try:
            return np.asarray(self._inner.get_tensor(place))
        except ValueError:
            return None

    def _refusal(self, what: str, error: Exception, said: str) -> InternalError:
        lines = [line for line in said.splitlines() if line.startswith("ERROR")]
        told = "; ".join([str(error).strip(), *(line[7:] for line in lines[:2])])
        return InternalError(f"export: LiteRT ({self.way}) {what}: {told}")


def _given(array: Array) -> Array:
    if array.dtype != object:
        return np.ascontiguousarray(array) if array.ndim else np.asarray(array)
    texts = [s.encode() if isinstance(s, str) else bytes(s) for s in array.reshape(-1)]
    return np.asarray(texts, np.bytes_).reshape(array.shape)


@contextlib.contextmanager
def _said() -> Iterator[Any]:
    """Yield a function that returns native code's standard error output, which is not shown."""
    with tempfile.TemporaryFile() as file:
        try:
            sys.stderr.flush()
            saved = os.dup(2)
        except (OSError, ValueError, AttributeError):
            yield lambda: ""
            return
        try:
            os.dup2(file.fileno(), 2)

            def said() -> str:
                file.seek(0)
                return file.read().decode(errors="replace")

            yield said
        finally:
            os.dup2(saved, 2)
            os.close(saved)
