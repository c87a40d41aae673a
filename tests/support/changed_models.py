"""SavedModels whose graph is changed on purpose, so that their fingerprint no longer matches."""

from pathlib import Path

from google.protobuf.message import Message


def write_changed(file: Path, content: Message | bytes) -> None:
    """Overwrite a saved_model.pb, and remove the fingerprint of the old one beside it."""
    data = content if isinstance(content, bytes) else content.SerializeToString()
    file.write_bytes(data)
    file.with_name("fingerprint.pb").unlink(missing_ok=True)
