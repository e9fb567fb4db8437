"""Same input, policy and seed give the same bytes: releases do not change unnoticed."""

import json

import pytest

from golden import GOLDEN, digests
from shoal.methods import METHODS


def test_every_method_is_pinned():
    assert sorted(json.loads(GOLDEN.read_text(encoding="utf-8"))) == sorted(METHODS)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_releases_are_the_same_as_ever(method):
    expected = json.loads(GOLDEN.read_text(encoding="utf-8"))[method]
    assert digests(method) == expected
