"""Where real microdata lies on this machine: beside the project, or where SHOAL_DATA says."""

import os
from pathlib import Path

DATA = Path(os.environ.get("SHOAL_DATA", Path(__file__).parents[2] / "shared" / "data"))
