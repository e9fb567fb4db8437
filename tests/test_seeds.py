"""Seeds: secret unless one is given, never published, and all that a release depends on besides
its records and its policy."""

from __future__ import annotations

import json

import pytest

import command
import shoal
from shoal.errors import PolicyError
from shoal.verification.manifest import SEED_GIVEN

ROLES = {"qi": ["age", "gender", "marital"], "sensitive": "occupation", "method": "hilbert"}
PEOPLE = shoal.datasets.census(300).select([*ROLES["qi"], "occupation"])


@pytest.mark.usefixtures("secret_seeds")
class TestSecretSeed:
    def test_every_run_draws_128_bits_of_its_own(self):
        seeds = [shoal.anonymize(PEOPLE, **ROLES, k=5, rest="plain").seed for _ in range(8)]
        assert len(set(seeds)) == 8
        assert max(seeds).bit_length() > 100
        assert all(0 <= seed < 1 << 128 for seed in seeds)

    def test_it_is_kept_from_first_to_last_and_never_published(self):
        release = shoal.anonymize(PEOPLE, **ROLES, max_loss=0.3, rest="plain")
        assert not release.seed_given
        assert str(release.seed) not in json.dumps(release.manifest)
        assert "seed" not in json.dumps(release.manifest)

    def test_given_as_a_seed_it_makes_the_same_release(self):
        first = shoal.anonymize(PEOPLE, **ROLES, k=5, l=3, rest="plain")
        again = shoal.anonymize(PEOPLE, **ROLES, k=5, l=3, seed=first.seed, rest="plain")
        assert again.table.equals(first.table)


class TestGivenSeed:
    def test_it_is_not_published_but_said_to_be_known(self):
        release = shoal.anonymize(PEOPLE, **ROLES, k=5, seed=918273645546372819, rest="plain")
        assert release.seed == 918273645546372819
        assert release.seed_given
        assert SEED_GIVEN in release.manifest["notices"]
        assert "918273645546372819" not in json.dumps(release.manifest)

    def test_the_command_line_says_so(self, table, out):
        roles = ["--qi", "age,zip", "--sensitive", "disease", "-k", "2", "--method", "hilbert",
                 "--identifier", "name", "--plain", "note"]  # fmt: skip
        told = command.shoal("anonymize", table, "-o", out, *roles, "--seed", "7")
        assert SEED_GIVEN in told.err

    @pytest.mark.parametrize("bad", [-1, 1 << 128])
    def test_what_is_no_seed_is_refused(self, bad):
        with pytest.raises(PolicyError, match="seed: expected a whole number from 0"):
            shoal.anonymize(PEOPLE, **ROLES, k=5, seed=bad, rest="plain")
