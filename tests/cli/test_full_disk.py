"""A disk without room: who only reads is answered all the same."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import document

if TYPE_CHECKING:
    from tests.cli.conftest import Shelf

SCRIPT = """
mount -t tmpfs -o size=2m tmpfs disk && cp -r "$1" disk/store && touch disk/fill
dd if=/dev/zero of=disk/fill bs=4k count=4096 2>/dev/null
for command in "status" "list" "deliveries"; do "$2" -m otel_gate --store disk/store $command || exit $?; done
"""


def test_reading_commands_answer_on_a_full_disk(shelf: Shelf, tmp_path: Path) -> None:
    """Nothing can be written beside the records, not even the index: a copy of it elsewhere is brought up to date."""
    shelf.put(document(), "otlp")
    shelf.store.close()
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rm", "true"], check=False, capture_output=True).returncode:
        pytest.skip("needs a mount namespace of its own")
    (tmp_path / "disk").mkdir()
    done = subprocess.run(
        [unshare, "-rm", "sh", "-c", SCRIPT, "sh", str(shelf.root), sys.executable], cwd=tmp_path, check=False,
        capture_output=True, text=True, env={"PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "records     1: 1 shape_ok" in done.stdout
    assert "otlp" in done.stdout
