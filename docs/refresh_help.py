"""Rewrite the ``--help`` outputs in cli.md from the commands themselves, and glossary.md.

Run it after changing a command or a term: ``python docs/refresh_help.py``. The tests of
the docs fail while the pages and the source differ.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from shoal.glossary import TERMS

GLOSSARY = Path(__file__).with_name("glossary.md")
PAGE = Path(__file__).with_name("cli.md")
BLOCK = re.compile(r"```console\n\$ (shoal [\w -]+ --help)\n.*?```", re.DOTALL)


def refreshed(block: re.Match[str]) -> str:
    _, *rest = block[1].split()
    command = [sys.executable, "-m", "shoal", *rest]
    settings = {**os.environ, "COLUMNS": "100", "TERM": "dumb"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=settings)
    return f"```console\n$ {block[1]}\n{done.stdout}```"


PAGE.write_text(BLOCK.sub(refreshed, PAGE.read_text("utf-8")), "utf-8")

rows = "\n".join(
    f"| `{term.name}` | {term.meaning} | {', '.join(f'`{name}`' for name in term.also)} |"
    for term in TERMS
)
GLOSSARY.write_text(
    f"""# Words

What the words on screens, in files and on these pages mean. `shoal explain WORD` says the same.

| word | meaning | also |
|---|---|---|
{rows}
""",
    "utf-8",
)
