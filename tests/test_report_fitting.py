"""Texts that are too long for a page: shortened, told apart, and the page stays small."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from shoal.report.blocks import code, code_parts
from shoal.report.fitting import LINE, SENTENCE, _sentence, apart, middle, shortened

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")

LIMIT = 1_000_000
ALIKE = st.lists(st.text("ab", max_size=35), max_size=6)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(ALIKE, st.integers(8, 30))
def test_different_texts_stay_different(texts: list[str], most: int) -> None:
    found = apart(texts, most)
    assert len(found) == len(texts)
    assert all(len(text) <= most for text in found)
    assert len(set(found)) == len(set(texts))
    same = [text for text, short in zip(texts, found, strict=True) if len(text) <= most // 2]
    assert all(text in found for text in same)


@given(st.text(max_size=60), st.integers(4, 30))
def test_beginning_and_end_are_kept(text: str, most: int) -> None:
    for short in (shortened(text, most), middle(text, most)):
        assert len(short) <= most or short == text
        assert short == text or "…" in short
    if len(text) > most:
        before, _, after = middle(text, most).rpartition("…")
        assert text.startswith(before) and text.endswith(after)


def test_a_sentence_keeps_its_commands() -> None:
    said = _sentence(f"Of {'x' * 5000} and {code('shoal verify ' + 'y' * 300)} something")
    assert "shoal verify " + "y" * 300 in code_parts(said)
    assert len(said) < 1000
    assert len(_sentence("word " * 5000)) <= SENTENCE


@pytest.mark.parametrize("names", [False, True], ids=["values", "names too"])
def test_ten_thousand_letters_and_a_hundred_columns(names: bool) -> None:
    """At most 1 MB, and no bar of one value is put upon that of another."""
    draw = np.random.default_rng(0)
    answers = [*(f"answer {n} {'x' * 10_000}" for n in range(9)),
               *(f"{'z' * 10_000}{n}" for n in range(9))]  # fmt: skip
    table = pa.table(
        {
            f"question_{n}_{'q' * 10_000 * names}": draw.integers(0, 90, 30)
            if n % 3 == 0
            else draw.choice(answers, 30)
            for n in range(100)
        }
    )
    release = shoal.anonymize(table, qi=table.column_names, k=5, method="hilbert", seed=1)
    made = release.report(table)  # which says more than the public one
    page = made.to_html()
    assert len(page.encode()) < LIMIT
    assert len(made.to_markdown().encode()) < LIMIT
    assert "x" * (LINE + 1) not in page and "q" * (LINE + 1) not in page
    changes = next(section for section in made.sections if section.key == "changes")
    for figure in changes.blocks[1:]:
        values = [row[0] for row in figure.table.rows]
        assert len(values) == len(set(values))
