"""DeFinetti's attack: classes teach what kind of people have which value (Kifer 2009).

At its word, a class says of each of its members the same. But all classes together say which
values go with which quasi-identifiers, and the attacker knows everybody's. He begins with what
the classes say, learns from it how often people with a value have each quasi-identifier (naive
Bayes), believes of each person accordingly, and learns again. Inside a class beliefs are
re-weighted until they fit the values that the class has.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.rates import Found
from shoal.attacks.scene import People
from shoal.attacks.secret import Secret
from shoal.risks.subject import Subject

__all__ = ["ROUNDS", "SWEEPS", "believed", "binned", "learnt", "likelihoods", "reweighted"]

ROUNDS = 10
"""How often he learns."""
SWEEPS = 4
"""How often beliefs in a class are re-weighted in each round."""
BINS = 16
"""Attributes with more values are cut into this many parts of about as many people."""

Matrix = NDArray[np.float64]


def learnt(secret: Secret) -> Found:
    """What deFinetti's attacker gets to know of a sensitive column."""
    scene = secret.scene
    codes = binned(scene.everybody.places(scene.qi).codes)
    parts = scene.apart(codes)
    priors = [secret.priors(people) for people in scene.both]
    alone = _alone_in(secret, scene.original)
    beliefs = [believed(priors[0], parts[0], alone, secret.counts)]
    if len(parts) > 1:  # of outsiders he knows what he has learnt, not their class
        beliefs.append(_normalised(priors[1] * likelihoods(beliefs[0], parts[0], parts[1])))
    return secret.found("learnt from all classes", beliefs)


def believed(
    prior: Matrix, codes: NDArray[np.int64], alone: NDArray[np.int64], counts: Matrix
) -> Matrix:
    """What is believed of each person after all rounds: people by values.

    Parameters
    ----------
    prior
        What the classes say of each.
    codes
        Their quasi-identifiers, in bins.
    alone
        The bucket of those who can be in one only, if all of its records are such people's;
        -1 of others.
    counts
        Values of each bucket.
    """
    belief = _normalised(prior)
    for _ in range(ROUNDS):
        belief = _normalised(prior * likelihoods(belief, codes, codes))
        belief = reweighted(belief, alone, counts)
    return belief


def likelihoods(belief: Matrix, codes: NDArray[np.int64], others: NDArray[np.int64]) -> Matrix:
    """How likely the quasi-identifiers of others are for each value, up to a factor a person."""
    logs = np.zeros((len(others), belief.shape[1]))
    for a in range(codes.shape[1]):
        size = 1 + int(max(codes[:, a].max(initial=0), others[:, a].max(initial=0)))
        seen = np.full((size, belief.shape[1]), 1.0 / size)  # nothing is impossible
        for v in range(belief.shape[1]):
            seen[:, v] += np.bincount(codes[:, a], belief[:, v], minlength=size)
        logs += np.log(seen / seen.sum(axis=0))[others[:, a]]
    return np.asarray(np.exp(logs - logs.max(axis=1, initial=-np.inf, keepdims=True)))


def reweighted(belief: Matrix, alone: NDArray[np.int64], counts: Matrix) -> Matrix:
    """Beliefs that, summed over a class, come near to the values that it has."""
    here = np.flatnonzero(alone >= 0)
    if not len(here):
        return belief
    found, where = belief.copy(), alone[here]
    for _ in range(SWEEPS):
        sums = np.zeros_like(counts)
        np.add.at(sums, where, found[here])
        scale = np.divide(counts, sums, out=np.zeros_like(counts), where=sums > 0)
        found[here] = _normalised(found[here] * scale[where])
    return found


def binned(codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Places on a scale as bins of about as many people, where there are many places."""
    found = codes.astype(np.int64)
    for a in range(codes.shape[1]):
        count = np.bincount(found[:, a])
        if len(count) > BINS:
            before = np.cumsum(count) - count
            found[:, a] = (before * BINS // max(1, int(count.sum())))[found[:, a]]
    return found


def _alone_in(secret: Secret, people: People) -> NDArray[np.int64]:
    """The bucket of each who fits one only, where all of its records are accounted for."""
    places = people.places(secret.scene.qi)
    bucket = _only_buckets(secret.scene.subject)
    fits = np.rint(places.candidates(np.ones(len(bucket))))
    which = np.rint(places.candidates(np.arange(len(bucket), dtype=np.float64))).astype(np.int64)
    alone = np.where(fits == 1, bucket[np.where(fits == 1, which, 0)], -1)
    there = np.bincount(alone[alone >= 0], minlength=len(secret.counts))
    whole = there == secret.counts.sum(axis=1)
    return np.where((alone >= 0) & whole[alone], alone, -1)


def _only_buckets(subject: Subject) -> NDArray[np.int64]:
    """The bucket that each class lies in; -1 of one whose records lie in several."""
    (ids, classes), (buckets, _) = subject.classes, subject.buckets
    low, high = np.full(classes, len(buckets)), np.full(classes, -1)
    np.minimum.at(low, ids, buckets)
    np.maximum.at(high, ids, buckets)
    return np.where(low == high, low, -1)


def _normalised(weights: Matrix) -> Matrix:
    total = weights.sum(axis=1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
