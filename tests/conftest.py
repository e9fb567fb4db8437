"""What many tests of the command line start from: a table of people, and where to release it."""

from pathlib import Path

import pytest

from command import people


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return people(tmp_path / "people.csv")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.csv"
