"""A wheel that carries compiled kernels (`make wheel`) says for which Python they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface[Any]):
    """Without compiled kernels the wheel is for all, as ever."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        compiled = Path(self.root) / "src" / "shoal" / "kernels" / "_compiled"
        if version != "editable" and any(compiled.glob("*.kernel")):
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
