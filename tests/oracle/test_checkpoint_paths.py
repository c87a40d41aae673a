"""Names of checkpoints: the same as TensorFlow's, from the same folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from oracle import ours
from oracle.programs import checkpoints
from oracle.test_models import ask

if TYPE_CHECKING:
    from pathlib import Path

    from oracle.peer import Peer

FOLDERS = ["./here", "here", "here/", "./here/", ".", "./", "a/b", ".//here", "{home}/here"]


@pytest.mark.parametrize("folder", [*FOLDERS, "{home}/./here/"])
def test_paths_begin_with_the_folder_as_it_was_given(
    folder: str, tmp_path: Path, peer: Peer
) -> None:
    found = []
    for who in ("theirs", "here"):
        home = tmp_path / who
        home.mkdir()
        given = [str(home), folder.format(home=home)]
        if who == "theirs":
            (told,) = ask(peer, ["checkpoints", "paths"], given)
        else:
            texts = [np.array(text.encode(), object) for text in given]
            (told,) = ours.run_program(checkpoints.paths, texts)[0]
        found.append([text.decode().replace(str(home), "<home>") for text in told])
    assert found[0] == found[1]
    assert len(found[0]) > 15
