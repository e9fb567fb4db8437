"""What models mean where some values are exempt, in slow plain Python; see `naive_models`.

A class is a list of (person, value) records. Nothing of Shoal is used.
"""

from __future__ import annotations

from naive_models import counts, size


def most_frequent(records, exempt):
    """r_1 over the values that are not exempt; a record of an exempt one is like no other."""
    return max([1, *(count for value, count in counts(records).items() if value not in exempt)])


def different(records, exempt):
    """Values that are not exempt, and one more for all that are; None if there are none."""
    values = set(counts(records))
    if values <= exempt:
        return None
    return len(values - exempt) + bool(values & exempt)


def holds(model, classes, exempt):
    """For each class, whether it satisfies the model."""
    found = []
    leftovers = sum(size(c) % model.l for c in classes) if model.name == "unique-l" else 0
    for c in classes:
        n, r = size(c), most_frequent(c, exempt)
        if model.name == "k-anonymity":
            found.append(n >= model.k)
        elif model.name == "frequency-l":
            found.append(model.l * r <= n)
        elif model.name == "unique-l":
            found.append(model.l * r <= n and (n % model.l == 0 or leftovers < model.l))
        elif model.name == "(alpha,k)":
            found.append(n >= model.k and r <= model.alpha * n)
        else:
            values = different(c, exempt)
            found.append(n >= model.l and (values is None or values >= model.l))
    return found
