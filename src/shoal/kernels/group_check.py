"""What decides whether a group satisfies the rules: one word for it in every kernel."""

from typing import NamedTuple

from shoal.kernels.histogram import Records, Tally, add, new_tally, reset, tally_inputs
from shoal.kernels.jit import inner_borrowed
from shoal.kernels.rules import SIZE, Rules, holds


class GroupCheck(NamedTuple):
    """Rules, what records add to a group, and the group that is counted now."""

    rules: Rules
    records: Records
    tally: Tally  # one of its own for each thread
    sizes_only: bool  # the number of records decides: no rule asks for more, persons have one each


def new_group_check(table, rules):
    """A check of groups of an EncodedTable by the rules of `shoal.models.rules_for`."""
    records, tally = tally_inputs(table)
    sizes_only = table.person is None and bool((rules.kind == SIZE).all())
    return GroupCheck(rules, records, tally, sizes_only)


def for_another_thread(check):
    """The same check with a tally of its own."""
    return check._replace(tally=new_tally(check.records))


def without_sizes(rules):
    """What the rules ask of values, however few records a group has."""
    values = rules.kind != SIZE
    kept = {name: getattr(rules, name)[values] for name in ("kind", "column", "a", "b", "x")}
    return rules._replace(smallest=1, **kept)


@inner_borrowed
def tally_holds(check):
    """Whether the group counted so far satisfies every rule."""
    tally = check.tally
    return holds(check.rules, tally.count[0], tally.histogram, tally.touched, tally.n_touched[0])


@inner_borrowed
def members_hold(check, members):
    """Whether a group of records satisfies every rule."""
    if check.sizes_only:
        return len(members) >= check.rules.smallest
    reset(check.tally)
    for row in members:
        add(check.tally, check.records, row)
    return tally_holds(check)
