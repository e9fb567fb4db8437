"""What several releases of a changing table give away together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, PolicyError
from shoal.io.write import sha256_of
from shoal.joining.check import reading_policy
from shoal.joining.sources import Source, open_source
from shoal.policy import Policy
from shoal.series.chain import Chain, open_chain
from shoal.series.cohorts import crowds, histories
from shoal.series.matching import Placed, candidates
from shoal.series.overlaying import overlaid, value_codes
from shoal.series.result import Exactly, SeriesCheck
from shoal.verification.check import published_names, released_classes

__all__ = ["series_check"]


def series_check(
    releases: Sequence[Any],
    *,
    records: Sequence[str | Path] = (),
    policy: Policy | str | Path | None = None,
    m: int | None = None,
    k: int | None = None,
    nobody_leaves: bool = False,
) -> SeriesCheck:
    """Attack the releases of a series: what is left of whoever is in all of them.

    Parameters
    ----------
    releases
        Two or more, in their order; manifests beside them say what they are of.
    records
        The chain of private records, the last of it or all: then everybody's true history is
        looked at.
    policy
        Hierarchies and orders, which manifests do not have; columns, where there is no manifest.
    m, k
        What must hold over all of them, where no manifest says it.
    nobody_leaves
        It is known that everybody of a release is in all later ones: then their records are
        matched, and what no matching of all of them has is ruled out.

    Returns
    -------
    SeriesCheck
        Its ``ok`` is False if the promise is broken. Without records it can be refuted, and
        is never proven: ``not refuted`` is the best there is then.
    """
    if isinstance(releases, str | Path) or len(releases) < 2:
        raise PolicyError("releases: expected at least two releases of one table")
    known = Policy.of(policy, {}) if policy is not None else Policy()
    reading = reading_policy(known, [], {})
    sources = [open_source(one, number, reading) for number, one in enumerate(releases, start=1)]
    promised = [source.promised for source in sources if source.promised is not None]
    qi = list(known.qi) or list(dict.fromkeys(name for p in promised for name in p.qi))
    sensitive = list(known.sensitive) or list(
        dict.fromkeys(name for p in promised for name in p.sensitive)
    )
    if not qi:
        raise PolicyError("qi: give a policy, or keep the manifests by the releases")
    if len(sensitive) > 1:
        raise PolicyError(f"expected one sensitive column at most; got {len(sensitive)}")
    secret = sensitive[0] if sensitive else None
    claimed = all(_claims_series(source) for source in sources)
    promise, level = _level(m, k, [known, *promised], secret)
    common = level if claimed and promise == "m" else None
    invented = [_counterfeits_of(source) for source in sources] if nobody_leaves else None
    seen, unsure = overlaid(sources, qi, secret, common, invented)
    exact = _exactly(sources, qi, secret, records, promise, level) if records else None
    return SeriesCheck(tuple(s.name for s in sources), promise, level, seen, exact, unsure)


def _claims_series(source: Source) -> bool:
    part = (source.about.manifest or {}).get("series")
    return isinstance(part, dict) and part.get("promise") == "m"


def _counterfeits_of(source: Source) -> int:
    """How many records are counterfeits, as its manifest says."""
    part = (source.about.manifest or {}).get("series")
    found = part.get("counterfeits") if isinstance(part, dict) else 0
    return found if isinstance(found, int) else 0


def _level(
    m: int | None, k: int | None, policies: Sequence[Policy], secret: str | None
) -> tuple[str, int]:
    """What must hold: the m, the l or the k that is asked for or was promised."""
    if m is None and k is not None:
        return "k", k
    asked = [m] if m is not None else [p.m for p in policies if p.m is not None]
    asked += [int(p.l) for p in policies if isinstance(p.l, int | float)] if not asked else []
    if secret is not None:
        return "m", min(asked, default=2)
    ks = [p.k for p in policies if p.k is not None]
    if not ks:
        raise PolicyError("expected m or k; got none, and no manifest promises one")
    return "k", min(ks)


def _exactly(
    sources: Sequence[Source], qi: Sequence[str], secret: str | None,
    records: Sequence[str | Path], promise: str, level: int,
) -> Exactly:  # fmt: skip
    """What is left of every person, by the chain."""
    chain = _chain_of(sources, records)
    if promise == "k" or secret is None:
        left = crowds(histories(chain))
    else:
        left = _values_left(chain, sources, qi, secret)
    counterfeits = tuple(int((link.rows < 0).sum()) for link in chain.links)
    few = left[left >= 0]
    return Exactly(
        len(few), int((few < level).sum()), int((few == 1).sum()), int(few.min(initial=level)),
        counterfeits,
    )  # fmt: skip


def _chain_of(sources: Sequence[Source], records: Sequence[str | Path]) -> Chain:
    """The longest chain of the records, if it is of exactly these releases."""
    chain = max((open_chain(Path(path)) for path in records), key=lambda c: len(c.links))
    for path in records:
        if sha256_of(Path(path)) not in {link.sha256 for link in chain.links}:
            raise InputError(f"record {path}: belongs to another series")
    if len(chain.links) != len(sources):
        raise InputError(
            f"the chain of records has {len(chain.links)} releases; got {len(sources)} to check"
        )
    for link, source in zip(chain.links, sources, strict=True):
        path = Path(source.name)
        if not path.is_file() or sha256_of(path) != link.release.get("sha256"):
            raise InputError(f"record {link.path}: is not of {source.name}, or that was changed")
    return chain


def _values_left(
    chain: Chain, sources: Sequence[Source], qi: Sequence[str], secret: str
) -> NDArray[np.int64]:
    """How many values are left of each person, by all releases that he is in."""
    codes, _ = value_codes(sources, secret)
    placed = []
    for link, source, value in zip(chain.links, sources, codes, strict=True):
        names = published_names(qi, source.table.column_names)
        ids, _ = released_classes(source.table, names)
        real = link.rows >= 0
        placed.append(Placed(link.rows[real], ids[real].astype(np.int64), ids.astype(np.int64),
                             value.astype(np.int64)))  # fmt: skip
    left = candidates(placed, chain.persons)
    return np.array([len(one) or -1 for one in left], dtype=np.int64)
