"""What many tests of the command line start from: a table of people, and where to release it."""

import os
import secrets
from pathlib import Path

import pytest
from hypothesis import settings

from command import people

# A run of `make test` that fails must fail again, on any machine: examples follow from the
# test's own source. `make test-all` draws new ones each time.
settings.register_profile("repeatable", derandomize=True)
if not os.environ.get("SHOAL_NEW_EXAMPLES"):
    settings.load_profile("repeatable")


@pytest.fixture(scope="session", autouse=True)
def one_seed():
    """Runs without a seed draw the same one in all tests, so that what fails fails again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.plan.drawn_seed", lambda: 0)
        yield


@pytest.fixture
def secret_seeds(monkeypatch):
    """Runs without a seed draw a secret one, as they do outside of tests."""
    monkeypatch.setattr("shoal.plan.drawn_seed", lambda: secrets.randbits(128))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return people(tmp_path / "people.csv")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.csv"
