"""Rewrite the ``--help`` outputs in cli.md from the commands themselves.

Run it after changing a command: ``python docs/refresh_help.py``. The docs test
fails while the page and the commands differ.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).with_name("cli.md")
BLOCK = re.compile(r"```console\n\$ (shoal [\w -]+ --help)\n.*?```", re.DOTALL)


def refreshed(block: re.Match[str]) -> str:
    shoal, *rest = block[1].split()
    command = [str(Path(sys.executable).with_name(shoal)), *rest]
    settings = {**os.environ, "COLUMNS": "100", "TERM": "dumb"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=settings)
    return f"```console\n$ {block[1]}\n{done.stdout}```"


PAGE.write_text(BLOCK.sub(refreshed, PAGE.read_text("utf-8")), "utf-8")
