"""SavedModels whose graph is changed on purpose, so that no fingerprint fits any more."""

from pathlib import Path

from google.protobuf.message import Message


def write_changed(file: Path, content: Message | bytes) -> None:
    """Write a saved_model.pb anew; a fingerprint beside it, which is of the old one, goes."""
    data = content if isinstance(content, bytes) else content.SerializeToString()
    file.write_bytes(data)
    file.with_name("fingerprint.pb").unlink(missing_ok=True)
