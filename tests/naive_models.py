"""Every privacy model in slow plain Python, word for word from DESIGN section 2.

A class is a list of (person, value) records; a table is a list of classes.
Without a person column every record is a person of its own. Values are numbers
in the order of the column; None is a missing value. Nothing of Shoal is used:
a model is asked for its name and parameters only.
"""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

import math
from collections import Counter
from decimal import Context, Decimal
from fractions import Fraction


def size(records):
    """Persons of a class."""
    return len({person for person, _ in records})


def counts(records):
    """How many persons of a class have each value."""
    return Counter(value for _, value in set(records))


def descending(records):
    """r_1 >= r_2 >= ... >= r_m."""
    return sorted(counts(records).values(), reverse=True)


def shares(records):
    c = counts(records)
    return {value: Fraction(count, sum(c.values())) for value, count in c.items()}


# --- does one class satisfy the model? ---------------------------------------------------


def k_anonymity(records, k):
    return size(records) >= k


def frequency(records, l):
    return l * descending(records)[0] <= size(records)


def dealt_out(records, m):
    """Some number of groups of m or more has room for every value once in each."""
    most = descending(records)[0]
    return any(most <= groups and m * groups <= size(records) for groups in range(1, most + 1))


def distinct(records, l):
    return len(counts(records)) >= l and size(records) >= l


def entropy(records, l):
    """-sum p ln p >= ln l, as prod p**p <= 1/l, both sides to the power of n."""
    c = counts(records)
    n = sum(c.values())
    power = math.prod(Fraction(count, n) ** count for count in c.values())
    return power * Fraction(l) ** n <= 1 and size(records) >= l


def recursive(records, c, l):
    r = descending(records)
    return size(records) >= l and r[0] < c * sum(r[l - 1 :])


def alpha_k(records, alpha, k):
    return size(records) >= k and descending(records)[0] <= alpha * size(records)


def distance(records, table, ordered):
    """Earth mover's distance between a class and the table, a list of all records."""
    p, q = shares(records), shares(table)
    values = sorted(q, key=lambda v: (v is None, v))  # a missing value is the last
    gaps = [p.get(v, 0) - q[v] for v in values]
    if not ordered:
        return sum(abs(gap) for gap in gaps) / 2
    if len(values) == 1:
        return Fraction(0)
    return Fraction(sum(abs(sum(gaps[: i + 1])) for i in range(len(gaps)))) / (len(values) - 1)


def gains(records, table):
    """Of each value of the table with share p: p, and (q - p) / p, q its share in the class."""
    q = shares(records)
    return [(p, (q.get(value, 0) - p) / p) for value, p in shares(table).items()]


def decimal(x):
    return Context(prec=80).divide(Decimal(x.numerator), Decimal(x.denominator))


def logarithm(x):
    """ln of a fraction to 80 digits."""
    return Context(prec=80).ln(decimal(x))


def basic_beta(records, table, beta):
    """Cao and Karras 2012: no value gains more than beta of its share."""
    return all(gain <= beta for _, gain in gains(records, table) if gain > 0)


def enhanced_beta(records, table, beta):
    """The same, and no value gains more than -ln p of its share."""
    rises = [(p, gain) for p, gain in gains(records, table) if gain > 0]
    return all(gain <= beta and gain <= -Fraction(logarithm(p)) for p, gain in rises)


def disclosed(records, table):
    """The largest |ln(q / p)| over the values of the table; infinity where one is missing."""
    ratios = [1 + gain for _, gain in gains(records, table)]
    return max(abs(logarithm(ratio)) if ratio else Decimal("inf") for ratio in ratios)


def spread(records):
    numbers = [value for _, value in records if value is not None]
    return max(numbers) - min(numbers) if numbers else 0


def k_e(records, k, e):
    # a spread above 0 takes two persons, even where one person has two numbers
    return size(records) >= max(k, 2 if e > 0 else 1) and spread(records) >= e


# --- all classes of a table --------------------------------------------------------------


def unique(classes, l):
    """Theorem 2 of paper 002, with the N mod l leftover records that cannot be avoided."""
    leftovers = sum(size(c) % l for c in classes)
    return [frequency(c, l) and (size(c) % l == 0 or leftovers < l) for c in classes]


def numbered(classes, numbers):
    """The same classes with the number behind each value (None: missing), as (k,e) needs them.

    `numbers` is a list by code or a dict by value; a NaN in it is a missing number.
    """

    def number(value):
        if value is None or (isinstance(numbers, dict) and value not in numbers):
            return None
        found = numbers[value]
        return None if found is None or math.isnan(found) else found

    return [[(person, number(value)) for person, value in c] for c in classes]


def holds(model, classes, ordered, numbers=None):
    """For each class, whether it satisfies the model.

    (k,e) compares numbers: values that are codes come with the `numbers` behind them.
    """
    if model.name == "(k,e)" and numbers is not None:
        classes = numbered(classes, numbers)
    table = [record for c in classes for record in c]
    if model.name == "unique-l":
        return unique(classes, model.l)
    if model.name == "t-closeness":
        return [distance(c, table, ordered) <= model.t for c in classes]
    beside_table = {
        "basic-beta-likeness": lambda c: basic_beta(c, table, model.beta),
        "beta-likeness": lambda c: enhanced_beta(c, table, model.beta),
        "delta-disclosure": lambda c: disclosed(c, table) < decimal(model.delta),
    }
    if model.name in beside_table:
        return [beside_table[model.name](c) for c in classes]
    one = {
        "k-anonymity": lambda c: k_anonymity(c, model.k),
        "frequency-l": lambda c: frequency(c, model.l),
        "m-invariance": lambda c: dealt_out(c, model.m),
        "distinct-l": lambda c: distinct(c, model.l),
        "entropy-l": lambda c: entropy(c, model.l),
        "recursive-l": lambda c: recursive(c, model.c, model.l),
        "(alpha,k)": lambda c: alpha_k(c, model.alpha, model.k),
        "(k,e)": lambda c: k_e(c, model.k, model.e),
    }[model.name]
    return [one(c) for c in classes]


def level(model, classes, ordered):
    """The strictest parameter all classes satisfy, found by trying where it is a whole number."""
    table = [record for c in classes for record in c]
    if model.name == "t-closeness":
        return max(distance(c, table, ordered) for c in classes)
    if model.name == "delta-disclosure":
        return max(disclosed(c, table) for c in classes)
    if model.name == "beta-likeness" and not all(enhanced_beta(c, table, 10**9) for c in classes):
        return math.inf
    if model.option == "beta":
        return max(0, *(gain for c in classes for _, gain in gains(c, table)))
    if model.name == "(alpha,k)":
        return max(Fraction(descending(c)[0], size(c)) for c in classes)
    if model.name == "(k,e)":
        return min(spread(c) for c in classes)
    if model.name == "entropy-l":
        return min(min(_perplexity(c), size(c)) for c in classes)
    others = {"c": model.c} if model.name == "recursive-l" else {}
    parameter = model.option
    passed = [
        n
        for n in range(1, len(table) + 1)
        if all(holds(type(model).of(**others, **{parameter: n}), classes, ordered))
    ]
    return max(passed, default=0)


def _perplexity(records):
    return math.exp(-sum(float(p) * math.log(p) for p in shares(records).values()))
