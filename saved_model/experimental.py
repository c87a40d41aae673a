"""TensorFlow's `tf.saved_model.experimental`: fingerprints, and the policy of variables."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from pinnace.functions.resources import TrackableResource as TrackableResource
from pinnace.proto.saved_model_pb2 import FingerprintDef
from pinnace.saved_model import layout

if TYPE_CHECKING:
    import os


@dataclass(frozen=True)
class Fingerprint:
    """The hashes by which TensorFlow identifies SavedModels.

    Attributes:
        saved_model_checksum: the hash of the file saved_model.pb.
        graph_def_program_hash: the hash of its graph.
        signature_def_hash: the hash of its signatures.
        saved_object_graph_hash: the hash of its objects.
        checkpoint_hash: the hash of the index of its variables.
        version: the version of the hash algorithm.
    """

    saved_model_checksum: int | None = None
    graph_def_program_hash: int | None = None
    signature_def_hash: int | None = None
    saved_object_graph_hash: int | None = None
    checkpoint_hash: int | None = None
    version: Any = None

    @classmethod
    def from_proto(cls, proto: Any) -> Fingerprint:
        """The fingerprint of a `FingerprintDef` message.

        Args:
            proto: the message, or its bytes.

        Raises:
            ValueError: the bytes are not such a message.
        """
        try:
            message = FingerprintDef.FromString(proto) if isinstance(proto, bytes) else proto
            return cls(*(getattr(message, name) for name in cls.__dataclass_fields__))
        except (AttributeError, DecodeError) as error:
            raise ValueError(
                f"Given proto could not be deserialized as fingerprint: {error}"
            ) from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Fingerprint, FingerprintDef)):
            return NotImplemented
        # The version is that of the algorithm, not of the content.
        names = [name for name in self.__dataclass_fields__ if name != "version"]
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def __hash__(self) -> int:
        return hash((self.saved_model_checksum, self.singleprint()))

    def __str__(self) -> str:
        names = [name for name in self.__dataclass_fields__ if name != "version"]
        lines = [f"  {name}: {getattr(self, name)}" for name in names]
        return "\n".join(["SavedModel Fingerprint", *lines])

    def singleprint(self) -> str:
        """Its hashes as one string; equal for models with the same function and values.

        Raises:
            ValueError: some are missing.
        """
        hashes = (
            self.graph_def_program_hash,
            self.signature_def_hash,
            self.saved_object_graph_hash,
            self.checkpoint_hash,
        )
        if None in hashes:  # TensorFlow's message
            raise ValueError(
                f"Encounted invalid fingerprint values when constructing singleprint: {hashes}"
            )
        return "/".join(map(str, hashes))


def read_fingerprint(export_dir: str | os.PathLike[str]) -> Fingerprint:
    """The fingerprint in the folder of a SavedModel.

    Args:
        export_dir: the folder.

    Raises:
        FileNotFoundError: the folder has no fingerprint.
        RuntimeError: the file is damaged.
    """
    path = layout.fingerprint_path(Path(export_dir))
    if not path.is_file():
        raise FileNotFoundError(f"SavedModel Fingerprint Error: there is no {path}")
    try:
        return Fingerprint.from_proto(path.read_bytes())
    except ValueError as error:
        raise RuntimeError(f"SavedModel Fingerprint Error: {path}: {error}") from None


class VariablePolicy(enum.Enum):
    """The policy by which a SavedModel describes variables that are placed on several devices.

    With one device there is one copy of each variable, so that all policies write the same.
    """

    NONE = None
    SAVE_VARIABLE_DEVICES = "save_variable_devices"
    EXPAND_DISTRIBUTED_VARIABLES = "expand_distributed_variables"

    @staticmethod
    def from_obj(obj: Any) -> VariablePolicy:
        """The policy of that name.

        Args:
            obj: a policy, its name, or None.

        Raises:
            ValueError: no policy has that name.
        """
        if obj is None or isinstance(obj, VariablePolicy):
            return obj or VariablePolicy.NONE
        for policy in VariablePolicy:
            if policy.value == str(obj).lower():
                return policy
        raise ValueError(f"invalid VariablePolicy value {obj!r}")
