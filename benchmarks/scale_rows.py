"""CPU and memory against rows: every engine beside DuckDB's own sort and rewrite.

`python -m benchmarks scale_rows 100 1000 10000` measures tables of so many thousand records,
by default up to 10 million; what was measured before stays. Every run is a process of its own,
started by a small one: a peak begins with the memory of who started it. Rows of other engines
can be added under their names. Writes `results/scale_rows.json` and `docs/scale.svg`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import shoal
from benchmarks.keeping import RESULTS, Table
from benchmarks.scale import MILLION, SORT, Spill, command, independent, measured
from shoal.io.write import decoded

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "scale.svg"
TITLE = "CPU and memory against rows"
HEAD = ["what", "records", "CPU s", "seconds", "peak MB", "spill MB"]
USUAL = (100, 300, 1_000, 3_000, 10_000)
MOST_IN_MEMORY = 10 * MILLION
"""Longer tables are not tried in memory."""
MEMORY = "2GB"
NAMES = {"memory": "Shoal, memory", "duckdb": "Shoal, DuckDB", "sort": "DuckDB alone: sort"}


def people(folder: Path, records: int) -> Path:
    """A census of so many records, made a million at a time."""
    path, writer, done = folder / "people.parquet", None, 0
    while done < records:
        table = decoded(
            shoal.datasets.census(min(MILLION, records - done), seed=done // MILLION + 1)
        )
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table, row_group_size=122_880)
        done += table.num_rows
    assert writer is not None
    writer.close()
    return path


def runs(folder: Path, records: int) -> list[list[Any]]:
    """Rows of the table for one number of records."""
    source, rows = people(folder, records), []
    sort = [sys.executable, "-c", SORT, str(source), str(folder / "sorted.parquet"), str(folder)]
    cpu, seconds, peak = measured(sort)
    rows.append([NAMES["sort"], records, cpu, seconds, round(peak), None])
    (folder / "sorted.parquet").unlink()
    for engine in ("memory", "duckdb"):
        if engine == "memory" and records > MOST_IN_MEMORY:
            continue
        out = folder / f"{engine}.parquet"
        asked = command(source, out, ["-k", "10"], engine)
        asked[asked.index("--memory") + 1] = MEMORY
        spill = Spill(folder)
        spill.start()
        cpu, seconds, peak = measured(asked)
        spill.done.set()
        found, smallest, _ = independent(out)
        assert found == records
        assert smallest >= 10
        spilt = round(spill.most / 1e6) if engine == "duckdb" else None
        rows.append([NAMES[engine], records, cpu, seconds, round(peak), spilt])
        out.unlink()
    return rows


def draw(rows: list[list[Any]]) -> None:
    """Two panels side by side, a line each."""
    import altair as alt
    import vl_convert

    most = max(row[1] for row in rows)
    ticks = [10**power * step for power in range(5, 9) for step in (1, 3)]
    ticks = [tick for tick in ticks if tick <= most]

    def panel(place: int, title: str) -> Any:
        known = [row for row in rows if row[place] is not None]
        values = [{"what": row[0], "records": row[1], "y": row[place]} for row in known]
        x = alt.X("records:Q", scale=alt.Scale(type="log", nice=False), title="records",
                  axis=alt.Axis(format="~s", grid=False, values=ticks))  # fmt: skip
        y = alt.Y("y:Q", scale=alt.Scale(type="log"), title=None,
                  axis=alt.Axis(format=",~g", gridColor="#e5e5e5", tickCount=4))  # fmt: skip
        colour = alt.Color("what:N", legend=None, scale=alt.Scale(range=COLOURS))
        base = alt.Chart(alt.Data(values=values)).encode(x, y, colour)
        chart = base.mark_line() + base.mark_point(filled=True, size=30)
        ends = sorted({row[0]: row for row in sorted(known, key=lambda row: row[1])}.values(),
                      key=lambda row: row[place])  # fmt: skip
        for below, row in zip([None, *ends], ends, strict=False):
            near = below is not None and below[1] == row[1] and row[place] < 1.3 * below[place]
            label = [{"what": row[0], "records": row[1], "y": row[place]}]
            mark = alt.Chart(alt.Data(values=label)).mark_text(align="left", dx=7, dy=-9 * near)
            chart += mark.encode(x, y, colour, text="what:N")
        return chart.properties(width=280, height=230, title=title)

    both = alt.hconcat(panel(2, "CPU seconds"), panel(4, "Peak of memory, MB"), spacing=120)
    title = alt.Title("Both engines take about the same CPU; records in files take less memory",
                      subtitle=f"Census, k = 10, hilbert, Parquet to verified Parquet; DuckDB "
                      f"engine with --memory {MEMORY}. All axes logarithmic.",
                      anchor="start", subtitleColor="#666")  # fmt: skip
    chart = both.properties(title=title).configure_view(stroke=None)
    PICTURE.write_text(vl_convert.vegalite_to_svg(chart.to_json()), encoding="utf-8")


COLOURS = ["#999999", "#0b6e6e", "#c2571a", "#5b4db1"]


def main() -> None:
    sizes = [int(word) * 1_000 for word in sys.argv[1:] if word.isdigit()]
    sizes = sizes or [size * 1_000 for size in USUAL]
    path = RESULTS / "scale_rows.json"
    known = json.loads(path.read_text("utf-8"))[TITLE]["rows"] if path.exists() else []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            known = [row for row in known if row[1] != size] + runs(Path(folder), size)
        table = Table("scale_rows", TITLE, HEAD, ".1f")
        for row in sorted(known, key=lambda row: (row[0], row[1])):
            table.add(*row)
        table.show()
    draw(known)
