"""Every number of the studio's own pages has its meaning one hover or focus away."""

from __future__ import annotations

import pytest

pytest.importorskip("starlette")
pytest.importorskip("playwright")

from shoal.cli.demo import _people
from shoal.io.write import write_table
from studio import running, stayed_home, surfing, unexplained

pytestmark = pytest.mark.xdist_group("studio")


def test_numbers_are_explained_on_columns_and_protection(tmp_path):
    write_table(_people(), tmp_path / "people.csv")
    with running(tmp_path, "people.csv") as studio, surfing() as (page, asked):
        page.goto(studio.address)
        page.wait_for_selector("#preview")
        page.click(".onward a")
        page.wait_for_selector("#unique strong")
        page.wait_for_selector(".effect:not(:empty)")
        assert unexplained(page) == []
        page.goto(f"{studio.base}/protection")
        page.wait_for_selector("#check .promises")
        headline = page.locator("#check .headline .term").first
        headline.focus()
        assert headline.locator("[role=tooltip]").is_visible()
        assert stayed_home(asked, studio.port)


def test_a_value_is_dragged_into_another_group(tmp_path):
    write_table(_people(), tmp_path / "people.csv")
    with running(tmp_path, "people.csv") as studio, surfing() as (page, asked):
        page.goto(studio.address)
        page.wait_for_selector("#preview")
        page.goto(f"{studio.base}/hierarchies?column=3")
        page.click("button:has-text('Build one by hand')")
        page.wait_for_selector(".tree [name=node]")
        for label in ("Divorced", "Separated"):
            page.get_by_label(f"Tick {label}", exact=True).focus()
            page.keyboard.press("Space")
        page.focus("#node-name")
        page.keyboard.type("Parted")
        page.keyboard.press("Enter")
        page.wait_for_selector("summary:has-text('Parted') small:text-is('2')")
        widowed = page.locator("li[data-node]:not([data-into])", has_text="Widowed")
        widowed.drag_to(page.locator("summary", has_text="Parted"))
        page.wait_for_selector("summary:has-text('Parted') small:text-is('3')")
        assert stayed_home(asked, studio.port)
