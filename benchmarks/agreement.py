"""How far the papers' tables are reproduced, as Markdown, from what `linkselect reproduce` wrote.

`python benchmarks/agreement.py sparsity-score-2012=DIR ...` prints, for each paper, how many cells
agree, each cell that does not with the reason found, and which claims held.
With `--write docs/reproduction.md` these parts replace those between the marks in that page.
Reasons are in `benchmarks/reasons.csv`: the first line that fits a cell counts, empty fits all.
"""

import argparse
import csv
import re
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from linkselect.experiments.agreement import compared, n_within, read_cells
from linkselect.experiments.papers import load_paper
from linkselect.report.paper import shown, shown_difference

YEAR_2020 = "similarity-constraint-score-2020"
NUMBER_OF_FEATURES = ": number of features"
REASONS = Path(__file__).with_name("reasons.csv")


@dataclass(frozen=True)
class Measure:
    """What counts as agreement: a distance in points, or as a share of the published number."""

    distance: float
    relative: bool = False

    def agrees(self, cell):
        return bool(n_within([cell], self.distance, relative=self.relative))

    def __str__(self):
        return f"{100 * self.distance:.0f} %" if self.relative else f"{self.distance:g} points"


POINTS, SHARE = Measure(2.0), Measure(0.1, relative=True)
MEASURES = {
    (YEAR_2020, 3): Measure(3.0),
    (YEAR_2020, 6): Measure(4.0),
    (YEAR_2020, 8): Measure(3.0),
}
# Rank sums are compared by who wins a row, run times by their order; not number by number.
BY_WINNER = {(YEAR_2020, 2), (YEAR_2020, 5)}
NOT_COMPARED = {(YEAR_2020, 7)}


def measure_of(paper, table, cell):
    if cell.setting.endswith(NUMBER_OF_FEATURES):
        return Measure(0.15, relative=True)
    if cell.dataset == "Average rank":
        return Measure(0.15, relative=True)
    return MEASURES.get((paper.name, table.number), POINTS if "%" in table.unit_name else SHARE)


def reason_for(reasons, paper, table, cell):
    facts = {"paper": paper.name, "table": str(table.number), "dataset": cell.dataset}
    facts |= {"method": cell.method, "setting": cell.setting}
    for line in reasons:
        if all(not line[name] or line[name] == fact for name, fact in facts.items()):
            return line["reason"]
    return "not found"


def winners(cells):
    """Return for each row whether a published winner has our lowest sum."""
    rows = {}
    for name, line in groupby(cells, key=lambda cell: (cell.dataset, cell.setting)):
        line = list(line)
        least = min(cell.published for cell in line)
        best = min(cell.ours for cell in line)
        rows[name] = any(cell.ours <= best for cell in line if cell.published == least)
    return rows


def summary(paper, table, cells):
    if (paper.name, table.number) in NOT_COMPARED:
        return f"| {table.number} | {len(cells)} | not compared number by number | |"
    if (paper.name, table.number) in BY_WINNER:
        rows = winners(cells)
        return f"| {table.number} | {len(rows)} rows | same winner | {sum(rows.values())} |"
    lines = []
    for measure in dict.fromkeys(measure_of(paper, table, cell) for cell in cells):
        same = [cell for cell in cells if measure_of(paper, table, cell) == measure]
        found = f"{sum(measure.agrees(cell) for cell in same)}"
        if not measure.relative:
            found += f" (within 2: {n_within(same, 2.0)}, 4: {n_within(same, 4.0)})"
        lines.append(f"| {table.number} | {len(same)} | within {measure} | {found} |")
    return "\n".join(lines)


def disagreements(paper, table, cells, reasons):
    if (paper.name, table.number) in NOT_COMPARED:
        return
    if (paper.name, table.number) in BY_WINNER:
        for (dataset, setting), same in winners(cells).items():
            if not same:
                line = [c for c in cells if (c.dataset, c.setting) == (dataset, setting)]
                told = min(line, key=lambda cell: cell.published)
                ours = min(line, key=lambda cell: cell.ours)
                why = reason_for(reasons, paper, table, told)
                yield (
                    f"| {table.number} | {dataset} | winner | {setting} | {told.method} "
                    f"| {ours.method} | | {why} |"
                )
        return
    for cell in cells:
        if not measure_of(paper, table, cell).agrees(cell):
            numbers = [shown(value, table.unit_name) for value in (cell.published, cell.ours)]
            numbers.append(shown_difference(cell, table.unit_name))
            fields = [table.number, cell.dataset, cell.method, cell.setting, *numbers]
            fields.append(reason_for(reasons, paper, table, cell))
            yield f"| {' | '.join(map(str, fields))} |"


def tables_part(paper, folder, reasons):
    tables = {
        number: compared(read_cells(folder / f"table-{number}.csv"))
        for number in paper.tables
        if (folder / f"table-{number}.csv").exists()
    }
    if not tables:
        return []
    off = [
        line
        for number, cells in tables.items()
        for line in disagreements(paper, paper.tables[number], cells, reasons)
    ]
    return [
        "| table | cells | agreement | how many |",
        "|---|---|---|---|",
        *(summary(paper, paper.tables[number], cells) for number, cells in tables.items()),
        "",
        "Cells that do not agree:",
        "",
        "| table | data | method | setting | published | ours | difference | reason found |",
        "|---|---|---|---|---|---|---|---|",
        *off,
        "",
    ]


def claims_part(folder):
    file = folder / "claims.csv"
    if not file.exists():
        return []
    with file.open(newline="", encoding="utf-8") as content:
        lines = list(csv.DictReader(content))
    if not lines:
        return []
    return [
        "| where | claim | held | found |",
        "|---|---|---|---|",
        *(
            f"| {line['part']} | {line['claim']} | {line['held']} | {line['found']} |"
            for line in lines
        ),
        "",
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("papers", nargs="+", metavar="PAPER=DIR")
    parser.add_argument("--write", type=Path, metavar="PAGE")
    options = parser.parse_args()
    with REASONS.open(newline="", encoding="utf-8") as file:
        reasons = list(csv.DictReader(file))
    for item in options.papers:
        name, _, folder = item.partition("=")
        found = [*tables_part(load_paper(name), Path(folder), reasons), *claims_part(Path(folder))]
        part = "\n".join(found)
        if options.write is None:
            print(f"## {name}\n\n{part}")
            continue
        page = options.write.read_text(encoding="utf-8")
        marked = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
        if not marked.search(page):
            parser.error(f"{options.write} has no marks for {name}.")
        start, end = marked.search(page).span(1)[1], marked.search(page).span(2)[0]
        page = f"{page[:start]}\n{part}\n{page[end:]}"
        options.write.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
