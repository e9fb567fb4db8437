"""The examples of the papers, as tables."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

__all__ = ["ages_weights", "disease", "hospital", "traffic_accidents", "xray"]


def hospital() -> pa.Table:
    """Ten patients: Table 1 of Xiao, Yi, Tao, EDBT 2010.

    ``name`` identifies; ``age`` (bands), ``gender``, ``education`` are
    quasi-identifiers; ``disease`` is sensitive. The paper writes the middle
    age band [30, 50]; here it is ``30-50``, which no release can be mistaken for.
    """
    return _table(
        ("name", "age", "gender", "education", "disease"),
        [
            ("Adam", "<30", "M", "Master", "HIV"),
            ("Bob", "<30", "M", "Master", "HIV"),
            ("Calvin", "<30", "M", "Bachelor", "pneumonia"),
            ("Danny", "30-50", "M", "Bachelor", "bronchitis"),
            ("Eva", "30-50", "F", "Bachelor", "pneumonia"),
            ("Fiona", "30-50", "F", "Bachelor", "bronchitis"),
            ("Ginny", "30-50", "F", "Bachelor", "bronchitis"),
            ("Helen", "30-50", "F", "Bachelor", "pneumonia"),
            ("Ivy", ">=50", "F", "High school", "dyspepsia"),
            ("Jane", ">=50", "F", "High school", "pneumonia"),
        ],
    )


def disease() -> pa.Table:
    """Seven patients: Table 1 of Ye et al., APWeb/WAIM 2009.

    ``name`` identifies; ``gender``, ``postcode`` (text), ``age`` are
    quasi-identifiers; ``disease`` is sensitive.
    """
    return _table(
        ("name", "gender", "postcode", "age", "disease"),
        [
            ("Alice", "F", "10075", 50, "Cancer"),
            ("Bob", "M", "10075", 50, "Obesity"),
            ("Carl", "M", "10076", 30, "Flu"),
            ("Diana", "F", "10075", 40, "Cancer"),
            ("Ella", "F", "10077", 20, "Flu"),
            ("Fiona", "F", "10077", 25, "Obesity"),
            ("Gavin", "M", "10076", 25, "Obesity"),
        ],
    )


def traffic_accidents() -> pa.Table:
    """Four drivers: Table 1 of Pei, Tao, Li, Xiao, ICDE 2009.

    Two quasi-identifiers: an insurer knows ``age``, ``vehicle``,
    ``postcode``; the human resource department ``occupation``, ``age``,
    ``postcode``. ``faulty`` is sensitive.
    """
    return _table(
        ("occupation", "age", "vehicle", "postcode", "faulty"),
        [
            ("Dentist", 30, "Red Truck", "31043", "No"),
            ("Family doctor", 30, "White Sedan", "31043", "Yes"),
            ("Banker", 30, "Green Sedan", "31043", "No"),
            ("Mortgage broker", 30, "Black Truck", "31043", "No"),
        ],
    )


def ages_weights() -> pa.Table:
    """Twelve patients: Figure 1(a) of Ghinita et al., VLDB 2007, reconstructed.

    ``age`` and ``weight`` are quasi-identifiers on an 8 x 8 grid, ``disease``
    is sensitive. Our copy of the paper lacks the figure. Ten of the points
    follow from the 1-D values that the text names; the points (40, 55) and
    (65, 85) and the diseases are ours, chosen so that every statement of the
    text holds: the groups for k = 4 and l = 3, Mondrian's split, and the
    counts of gastritis and Alzheimer's. Rows are in the order of the curve.
    """
    return _table(
        ("age", "weight", "disease"),
        [
            (35, 50, "gastritis"),
            (40, 55, "flu"),
            (45, 60, "gastritis"),
            (45, 65, "pneumonia"),
            (55, 65, "gastritis"),
            (60, 60, "flu"),
            (60, 55, "flu"),
            (65, 50, "Alzheimer's"),
            (55, 75, "flu"),
            (60, 75, "pneumonia"),
            (65, 85, "Alzheimer's"),
            (70, 80, "gastritis"),
        ],
    )


def xray() -> pa.Table:
    """Four people who had an X-ray: the example of Meyerson, Williams, PODS 2004.

    All of ``first``, ``last``, ``age``, ``race`` are quasi-identifiers.
    """
    return _table(
        ("first", "last", "age", "race"),
        [
            ("Harry", "Stone", 34, "Afr-Am"),
            ("John", "Reyser", 36, "Cauc"),
            ("Beatrice", "Stone", 47, "Afr-Am"),
            ("John", "Ramos", 22, "Hisp"),
        ],
    )


def _table(names: Sequence[str], rows: Sequence[tuple[str | int, ...]]) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table({name: list(column) for name, column in zip(names, columns, strict=True)})
