"""Names of files that say more than the file: ``book.xlsx#Sheet``, ``people.dat#layout.csv``."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["file_and_part"]

WITH_PART = re.compile(r"(.+\.(?:xlsx|xlsm|xls|ods|dat|fwf))#(.+)", re.IGNORECASE | re.DOTALL)


def file_and_part(path: Path) -> tuple[Path, str | None]:
    """A file, and the sheet or layout that its name goes on with; None where there is none."""
    found = WITH_PART.fullmatch(str(path))
    if found is None or path.exists():
        return path, None
    return Path(found[1]), found[2]
