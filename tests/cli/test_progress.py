"""Signs of life."""

import os
import pty
import subprocess
import sys

import pytest


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_sign_of_life_on_a_terminal():
    """Work of over a second shows what it is doing, and takes it away again."""
    code = (
        "import time\n"
        "from polyceptron.cli._progress import Waiting\n"
        "with Waiting('Learning') as waiting:\n"
        "    time.sleep(1.5)\n"
        "    waiting.say('fold 2 of 3', 1, 3)\n"
        "    time.sleep(0.5)\n"
    )
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", code], stderr=theirs, env=os.environ | {"TERM": "xterm"}
    ) as process:
        os.close(theirs)
        text = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
        process.wait()
    os.close(ours)
    assert process.returncode == 0
    assert b"Learning" in text
    assert b"fold 2 of 3" in text
