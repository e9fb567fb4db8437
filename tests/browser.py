"""A real browser for tests of pages: Debian's Chromium, driven by playwright, offline.

Where none is installed a test skips and says so; in CI that is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next((p for n in ("chromium", "chromium-browser") if (p := shutil.which(n))), None)
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


def need_browser() -> str:
    """The path of the browser; skips where there is none, but not in CI."""
    if CHROMIUM is not None:
        return CHROMIUM
    if os.environ.get("CI"):
        pytest.fail("no chromium: `make test` installs it where apt-get and root are there")
    pytest.skip("no chromium on this machine: apt-get install chromium")


def pdf_text(file: Path) -> str:
    """What a reader of a PDF sees, on one line; skips where nothing can take it out."""
    tool = shutil.which("pdftotext")
    if tool is None:
        if os.environ.get("CI"):
            pytest.fail("no pdftotext: `make test` installs it where apt-get and root are there")
        pytest.skip("no pdftotext on this machine: apt-get install poppler-utils")
    done = subprocess.run([tool, str(file), "-"], capture_output=True, check=True, timeout=60)
    return " ".join(done.stdout.decode("utf-8").split())


@contextmanager
def opened(file: Path, width: int = 1280, dark: bool = False) -> Iterator[tuple[Any, list[str]]]:
    """A page of a file, and the addresses that it asked for besides the file itself."""
    from playwright.sync_api import sync_playwright

    path = need_browser()
    asked: list[str] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=FLAGS)
        try:
            look: Any = "dark" if dark else "light"
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=look)
            page.on("request", lambda request: asked.append(request.url))
            page.goto(file.as_uri())
            yield page, [url for url in asked if url != file.as_uri()]
        finally:
            browser.close()


def axe_faults(page: Any) -> list[str]:
    """What axe-core finds wrong with a page, one line each."""
    package = find_spec("axe_playwright_python")
    assert package is not None
    assert package.origin is not None
    script = Path(package.origin).with_name("axe.min.js").read_text(encoding="utf-8")
    # A page whose policy forbids scripts cannot be given one: it is run by the browser itself.
    found = page.evaluate(f"async () => {{ {script}; return (await axe.run()).violations; }}")
    return [f"{fault['id']}: {node['html'][:120]}" for fault in found for node in fault["nodes"]]
