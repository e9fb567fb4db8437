"""The cheapest way to give every row a column of its own: the assignment problem.

Shortest augmenting paths with potentials (Jonker and Volgenant; the code
follows the short form by rows, O(n^3) at worst). Rows and columns are counted
from 1 in the scratch, 0 stands for nobody.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import inner_borrowed


class Assignment(NamedTuple):
    """Scratch and result: row ``row[j + 1] - 1`` takes column j."""

    row: np.ndarray  # int64 (n + 1,)
    back: np.ndarray  # int64 (n + 1,): column before j on the path
    done: np.ndarray  # bool (n + 1,)
    slack: np.ndarray  # float64 (n + 1,)
    of_row: np.ndarray  # float64 (n + 1,): potentials
    of_column: np.ndarray  # float64 (n + 1,)


def new_assignment(size):
    """Room to assign so many rows."""
    return Assignment(
        np.zeros(size + 1, np.int64),
        np.zeros(size + 1, np.int64),
        np.zeros(size + 1, np.bool_),
        np.zeros(size + 1, np.float64),
        np.zeros(size + 1, np.float64),
        np.zeros(size + 1, np.float64),
    )


@inner_borrowed
def _advance(cost, n, found, column):
    """Lower the slacks by the row of a column on the path; the column that is nearest now."""
    row = found.row[column]
    nearest = 0
    least = np.inf
    for j in range(1, n + 1):
        if found.done[j]:
            continue
        slack = cost[row - 1, j - 1] - found.of_row[row] - found.of_column[j]
        if slack < found.slack[j]:
            found.slack[j] = slack
            found.back[j] = column
        if found.slack[j] < least:
            least = found.slack[j]
            nearest = j
    for j in range(n + 1):
        if found.done[j]:
            found.of_row[found.row[j]] += least
            found.of_column[j] -= least
        else:
            found.slack[j] -= least
    return nearest


@inner_borrowed
def assign(cost, n, found):
    """Assign the first n rows of `cost` to its first n columns; gives the total cost."""
    found.row[: n + 1] = 0
    found.of_row[: n + 1] = 0.0
    found.of_column[: n + 1] = 0.0
    for row in range(1, n + 1):
        found.row[0] = row
        found.slack[: n + 1] = np.inf
        found.done[: n + 1] = False
        column = 0
        while found.row[column] != 0:
            found.done[column] = True
            column = _advance(cost, n, found, column)
        while column != 0:
            before = found.back[column]
            found.row[column] = found.row[before]
            column = before
    total = 0.0
    for j in range(n):
        total += cost[found.row[j + 1] - 1, j]
    return total
