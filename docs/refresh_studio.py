"""Take the pictures of studio.md anew: ``python docs/refresh_studio.py``, with a browser there.

Looks at every step of the way on the demo's table, wide and narrow. A picture shows the top of
its page; look at them before they are kept.
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from shoal.cli.demo import _people  # noqa: E402
from shoal.io.write import write_table  # noqa: E402
from studio import running, surfing  # noqa: E402

TALLEST = {1280: 1000, 390: 1100}


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "survey"
        folder.mkdir()
        write_table(_people(), folder / "people.csv")
        with running(folder, "people.csv") as studio:
            for width, dark in ((1280, False), (390, True)):
                walk(studio, width, dark)
                studio.end()
                studio.__init__(folder, "people.csv")  # type: ignore[misc]


def smaller(path: Path) -> None:
    """With few colours a picture is a third as large; needs Pillow, and is left without it."""
    try:
        from PIL import Image
    except ImportError:
        return
    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(64, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def walk(studio, width: int, dark: bool) -> None:
    with surfing(width, dark) as (page, _):

        def take(step: str) -> None:
            page.mouse.move(0, 0)
            page.wait_for_timeout(400)
            page.evaluate("window.scrollTo({top: 0, behavior: 'instant'})")
            tall = page.evaluate("document.documentElement.scrollHeight")
            page.set_viewport_size({"width": width, "height": min(tall, TALLEST[width])})
            path = ROOT / "docs" / f"studio-{step}-{width}.png"
            page.screenshot(path=path)
            smaller(path)

        def onward() -> None:
            page.click(".onward a")

        page.goto(studio.address)
        page.wait_for_selector("#preview")
        take("data")
        onward()
        page.wait_for_selector("#unique strong")
        take("columns")
        onward()
        page.click(".list a >> nth=3")
        page.click("button[value=suggest]")
        page.wait_for_selector(".tree li")
        take("hierarchies")
        onward()
        page.wait_for_selector("#check .promises")
        page.click("button[value=contract]")
        page.wait_for_selector("#check >> text=12 or more")
        take("protection")
        onward()
        for method in ("mondrian", "best"):
            page.select_option("select[name=method]", method)
            page.click("button.main")
            page.wait_for_selector(".run.running, .run.done")
        page.wait_for_function(
            "() => document.querySelectorAll('.run.done').length == 2", timeout=300_000
        )
        page.click("button:has-text('Measure half')")
        page.wait_for_selector("polyline.line", timeout=300_000)
        page.click(".run >> nth=0 >> button:has-text('Choose')")
        page.wait_for_selector("#classes table")
        take("explore")
        onward()
        page.wait_for_selector(".report section", timeout=300_000)
        take("risk")
        onward()
        page.wait_for_selector("#command")
        take("release")


if __name__ == "__main__":
    main()
