"""The file of a dataset, found in its folder or downloaded; errors say where to put it."""

from __future__ import annotations

from pathlib import Path

from pinnace.keras import downloads

HOST = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
# The remedy without a network connection.
DIGITS = "sklearn.datasets.load_digits(), 1,797 images of 8x8 pixels that come with scikit-learn"
DIABETES = "sklearn.datasets.load_diabetes(), 442 rows of 10 numbers that come with scikit-learn"


def fetched(
    who: str,
    name: str,
    origin: str,
    digest: str | None,
    *,
    folder: str = "datasets",
    extract: bool = False,
    instead: str | None = None,
) -> Path:
    """The path of the file, or of the folder that it was unpacked to.

    Args:
        who: the dataset, for errors.
        name: name of the file in the folder.
        origin: its URL.
        digest: sha256, or md5 where Keras has no other; None if Keras has none.
        folder: below `~/.keras`, or what `KERAS_HOME` says.
        extract: whether it is an archive, which is unpacked.
        instead: the alternative that needs no file.

    Raises:
        OSError: the file is not in the cache and cannot be fetched.
        ValueError: the fetched file has another digest.
    """
    try:
        return Path(
            downloads.get_file(name, origin, file_hash=digest, cache_subdir=folder, extract=extract)
        )
    except OSError as error:
        path, _ = downloads.places(downloads.cache_folder() / folder, name, origin, extract)
        raise OSError(_unfetched(who, path, origin, digest, instead, error)) from error


def _unfetched(
    who: str, path: Path, origin: str, digest: str | None, instead: str | None, error: OSError
) -> str:
    state = "has another digest than its own" if path.is_file() else "is not there"
    lines = [
        f"keras.datasets.{who}: {path.name} {state}, and it cannot be fetched: {error}",
        f"  from: {origin}",
        f"  to:   {path}",
    ]
    if digest is not None:
        kind = "sha256" if len(digest) == 64 else "md5"
        lines.append(f"  {kind}: {digest}")
    lines.append("  Try: fetch it where there is a network, and put it there under that name")
    if instead is not None:
        lines.append(f"  Or: {instead}")
    return "\n".join(lines)
