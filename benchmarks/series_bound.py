"""How little a release of a series can lose, once those who stay have their signatures.

Somebody who stays stands beside one record of every other value of his signature: of somebody
who stays in his bucket, or of a new person, of whoever has this value. However new persons are
dealt out and buckets are cut, his group loses at least what the nearest such record costs him,
for the value that costs him most. Nobody else counts here: new persons as if they lost
nothing, and one record may be the nearest of many. Beside a counterfeit nothing is lost; so
the largest such losses are left out, as many as counterfeits have mates. What is left is less
than any m-invariant release with these signatures, and so many counterfeits, loses.

Writes `results/series_bound.json`: 20,000 persons of ACS, and diabetes130, as in `series`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import shoal
from benchmarks.data import acs
from benchmarks.series import ID, M, churning, diabetes, growing, kept
from shoal.encoding.codebook import SET, SPAN
from shoal.encoding.encode import encode
from shoal.encoding.table import EncodedTable
from shoal.policy import Policy
from shoal.series.chain import Chain, open_chain
from shoal.series.persons import Numbering, hashes_of

RESULTS = Path(__file__).parent / "results" / "series_bound.json"
SOME, RELEASES = 20_000, {"acs": 8, "diabetes130": 6}


def main() -> None:
    """Print and write the bound of each release."""
    found = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name in [n for n in RELEASES if n in sys.argv[1:]] or RELEASES:
        part = acs() if name == "acs" else diabetes()
        if part is None:
            continue
        table, asked = part
        asked = {**asked, "sensitive": "OccGroup" if name == "acs" else "diag_1"}
        if name == "acs":
            tables = churning(kept(table, asked), SOME, RELEASES[name])
        else:
            tables = growing(table, 10)
        found[name] = list(_bounds(tables, asked, RELEASES[name]))
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _bounds(
    tables: Iterator[pa.Table], asked: dict[str, Any], releases: int
) -> Iterator[dict[str, Any]]:
    after: str | None = None
    with tempfile.TemporaryDirectory() as folder:
        for number, table in zip(range(1, releases + 1), tables, strict=False):
            before = None if after is None else open_chain(Path(after))
            out = Path(folder) / f"r{number}.csv"
            made = shoal.anonymize(
                table, **asked, m=M, person=ID, after=after, out=out, seed=number
            )
            alone = shoal.anonymize(
                table, **asked, l=M, identifier=ID, method="bsgi", seed=number
            ).loss.gcp
            after = f"{out}.record.json"
            invented = made.series.public["counterfeits"]
            least = 0.0 if before is None else _least(table, asked, before, invented)
            row = {
                "release": number, "counterfeits": invented,
                "ratio": round(made.loss.gcp / alone, 3), "bound": round(least / alone, 3),
            }  # fmt: skip
            print(row, flush=True)
            yield row


def _least(table: pa.Table, asked: dict[str, Any], chain: Chain, invented: int) -> float:
    """The least loss of a table after a chain, all attributes of one weight."""
    policy = Policy.parse(**asked, person=ID)
    codes = encode(table.drop([ID]), Policy.parse(**asked))
    numbers = chain.numbers_of(hashes_of(table.column(ID), ID, policy, chain.key))
    values = Numbering(codes.sensitive[0], chain, policy)
    value = values.of_code[codes.sensitive_codes[0]]
    new, lost = numbers < 0, np.zeros(codes.n)
    own = np.where(new, -1, chain.signature[numbers])
    of_value = {v: np.flatnonzero(new & (value == v)) for v in np.unique(value).tolist()}
    none = np.zeros(0, dtype=np.int64)
    for signature in np.unique(own[~new]).tolist():
        bucket = np.flatnonzero(own == signature)
        for v in values.signatures[signature]:
            others = bucket[value[bucket] != v]
            mates = np.concatenate([bucket[value[bucket] == v], of_value.get(v, none)])
            if len(others) and len(mates):
                lost[others] = np.maximum(lost[others], _nearest(codes, others, mates))
    largest = max(len(one) for one in values.signatures)
    counted = np.sort(lost)[: codes.n - invented * (largest - 1)]
    return float(counted.sum()) / codes.n / len(codes.qi)


def _nearest(codes: EncodedTable, rows: np.ndarray, mates: np.ndarray) -> np.ndarray:
    """What a group of each row and the mate that costs it least loses."""
    points = np.unique(codes.codes[:, mates], axis=1)
    mine, which = np.unique(codes.codes[:, rows], axis=1, return_inverse=True)
    found = np.zeros((mine.shape[1], points.shape[1]))
    for a, attribute in enumerate(codes.qi):
        one, other = mine[a][:, None], points[a][None, :]
        if attribute.form == SPAN:
            line = attribute.position
            found += np.minimum(1.0, np.abs(line[one] - line[other]))
        else:
            assert attribute.form == SET
            found += np.where(one == other, 0.0, 2 / int(codes.costs.size[a]))
    return found.min(axis=1)[which.reshape(-1)]


if __name__ == "__main__":
    main()
