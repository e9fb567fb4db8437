"""The control of an attack: what it is 0 for, what is none, and attacks that try nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pytest

import shoal
from command import shoal as command
from shoal.attacks import attack, attack_run
from shoal.attacks.run import _held_out
from shoal.errors import InputError
from shoal.policy import Policy

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")

ROLES = {"qi": ["age", "zip"], "sensitive": "ill", "identifier": "id", "method": "mondrian"}


def people(n: int, seed: int) -> pa.Table:
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "age": draw.integers(20, 80, n),
            "zip": draw.integers(1000, 1100, n),
            "ill": draw.choice(list("abcdef"), n).tolist(),
            "id": draw.integers(0, 10**9, n),
        }
    )


def twins(seed: int) -> pa.Table:
    """Everybody has another age, and a control has the same ages."""
    draw = np.random.default_rng(seed)
    return pa.table({"age": np.arange(20, 60), "ill": draw.choice(list("abc"), 40).tolist()})


@pytest.mark.parametrize("control", [None, twins(2)], ids=["alone", "with a control"])
def test_a_release_of_single_people_is_flagged(control: pa.Table | None) -> None:
    """Outsiders who look the same do not excuse it: that they are a record is always wrong."""
    release = shoal.anonymize(twins(1), qi="age", sensitive="ill", k=1, method="mondrian")
    found = attack(release, twins(1), control, attacks=["linking", "singling-out"])
    assert not found.ok
    linked, single = found.found[0], next(f for f in found.found if f.attack == "singling out")
    assert linked.flagged and linked.main.share == 1
    assert single.flagged and single.main.share == 1
    assert control is None or (linked.control.right, linked.risk) == (0, 1)


def test_linking_within_what_was_promised_is_not_flagged() -> None:
    original = people(400, 1)
    weak = shoal.anonymize(original, **ROLES, k=2)
    fair = shoal.anonymize(original, **ROLES, k=10)
    first = attack(weak, original, attacks=["linking"]).found[0]
    assert first.flagged and first.main.share > 0.2  # the promise of k = 2 is no excuse
    linked = attack(fair, original, people(400, 2), attacks=["linking"])
    assert linked.ok and linked.found[0].promised == 0.1
    assert linked.found[0].beats_guessing


def joined(*tables: pa.Table) -> pa.Table:
    return pa.concat_tables(tables)


@pytest.mark.parametrize("how", ["doubled", "another id", "half of it", "a tenth", "reordered"])
def test_the_original_is_no_control(how: str) -> None:
    original, others = people(400, 1), people(400, 2)
    renamed = original.set_column(3, "id", pa.array(np.arange(400)))
    control = {
        "doubled": joined(original, original),
        "another id": renamed,
        "half of it": joined(renamed.slice(0, 200), others.slice(0, 200)),
        "a tenth": joined(renamed.slice(0, 40), others.slice(0, 360)),
        "reordered": original.take(pa.array(np.random.default_rng(0).permutation(400))),
    }[how]
    release = shoal.anonymize(original, **ROLES, k=5)
    with pytest.raises(InputError, match="control"):
        attack(release, original, control, attacks=["linking"])


@pytest.mark.parametrize("seed", range(5))
def test_people_who_are_alike_by_chance_are_a_control(seed: int) -> None:
    """Few values: most of the control has values that somebody of the original has, too."""
    draw = np.random.default_rng(seed)
    table = pa.table(
        {"age": draw.integers(20, 40, 600), "ill": draw.choice(list("ab"), 600).tolist()}
    )
    found, _ = attack_run(
        table, qi="age", sensitive="ill", k=5, method="mondrian", attacks=["linking"], seed=seed
    )
    assert found.control == 120


def test_what_tried_nothing_does_not_pass(tmp_path: Path) -> None:
    many = pa.table({"age": np.arange(230) % 50, "ill": [f"s{n}" for n in range(230)]})
    pcsv.write_csv(many, tmp_path / "people.csv")
    release = shoal.anonymize(many, qi="age", sensitive="ill", k=5, method="mondrian")
    release.write(tmp_path / "r.csv")
    for name in ("membership", "inference"):
        found = attack(release, many, attacks=[name])
        assert not found.ok and not found.found and len(found.skipped) == 1
        assert "nothing was tried" in repr(found)
        told = command(
            "attack", tmp_path / "r.csv", "--original", tmp_path / "people.csv", "--attacks", name
        )
        assert told.code == 5 and "not tried" in told.out


def test_rows_that_are_equal_by_chance_are_no_copies() -> None:
    """Few values of few columns: most rows that are unique in both tables are so by chance."""

    def few(n: int, seed: int) -> pa.Table:
        draw = np.random.default_rng(seed)
        return pa.table({
            "age": draw.integers(20, 26, n),
            "job": draw.choice(list("abc"), n),
            "ill": draw.choice(list("uvwx"), n),
        })  # fmt: skip

    original = few(80, 2)
    release = shoal.anonymize(original, qi=["age", "job"], sensitive="ill", k=5, method="mondrian")
    for seed in range(5, 15):
        attack(release, original, few(40, seed), attacks=["linking"])  # none is refused
    with pytest.raises(InputError, match="control"):
        attack(release, original, original, attacks=["linking"])


@pytest.mark.parametrize("rows", [3, 10, 60])
def test_a_few_people_of_the_original_are_no_control(rows: int) -> None:
    original = people(60, 1)
    release = shoal.anonymize(original, **ROLES, k=5)
    with pytest.raises(InputError, match="control"):
        attack(release, original, original.slice(0, rows), attacks=["linking"])


def test_what_a_reader_knows_is_held_against_that_readers_promise() -> None:
    """All columns together promise nothing here; each reader's own are promised 1/10."""
    jobs = np.random.default_rng(9).choice(list("abcdef"), 600)
    original = people(600, 1).append_column("job", pa.array(jobs))
    readers = {"a": {"qi": ["age", "zip"]}, "b": {"qi": ["age", "job"]}}
    release = shoal.anonymize(
        original, sensitive="ill", rest="drop", reader=readers, k=10, method="hilbert", seed=1
    )
    found = {one.about: one for one in attack(release, original, attacks=["linking"]).found}
    of_a = found["reader a: knows age and zip"]
    assert of_a.promised == 0.1 and not of_a.flagged and of_a.main.share <= 0.1
    assert found["reader b: knows age and job"].promised == 0.1
    assert found["knows all"].promised == 0 and found["knows all"].flagged


def test_rows_of_one_person_are_one_persons(tmp_path: Path) -> None:
    """Ten rows a class, five of them somebody's: that person is linked by every second one."""
    n = 40
    table = pa.table({
        "age": np.repeat(np.arange(4), 10),
        "who": [f"p{i // 5}" for i in range(n)],
        "ill": ["u", "v"] * (n // 2),
    })  # fmt: skip
    asked = {"qi": "age", "sensitive": "ill", "person": "who", "k": 2, "method": "mondrian"}
    release = shoal.anonymize(table, **asked, seed=1)
    assert len(set(release.table["age"].to_pylist())) == 4
    by_release = attack(release, table, attacks=["linking"]).found[0]
    assert by_release.main.share == 0.5  # persons are known: one of two
    release.write(tmp_path / "r.csv")  # which does not say whose records are whose
    hidden = attack(tmp_path / "r.csv", table, attacks=["linking"]).found[0]
    assert hidden.main.share == 0.5  # ten records, of which five are his


def test_whole_persons_are_held_out() -> None:
    """Whoever has other records in the release is not somebody who is not in it."""
    table = people(400, 1).append_column("who", pa.array([f"p{i % 130}" for i in range(400)]))
    found, release = attack_run(
        table, qi=["age", "zip"], sensitive="ill", person="who", rest="drop", k=3,
        method="mondrian", attacks=["linking"], seed=1,
    )  # fmt: skip
    assert found.control is not None and abs(found.control - 80) <= 4
    assert release.table.num_rows == 400 - found.control
    held = _held_out(table, Policy.parse(person="who"), 0.2, np.random.default_rng(1))
    who = np.array(table["who"].to_pylist())
    assert not set(who[held]) & set(who[~held]) and held.sum() == found.control
