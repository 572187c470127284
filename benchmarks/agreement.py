"""How far the papers' tables are reproduced, as Markdown, from what `linkselect reproduce` wrote.

`python benchmarks/agreement.py sparsity-score-2012=DIR ...` prints, for each paper, how many cells
agree, each cell that does not with the reason found, and which claims held.
With `--write docs/reproduction/PAGE.md` these parts replace those between the marks in that page.
Reasons are in `benchmarks/reasons.csv`: the first line that fits a cell counts, empty fits all.
"""

import argparse
import csv
import re
from pathlib import Path

from linkselect.reproduction._agreement import (
    AVERAGE_RANK,
    FEATURES,
    RANK_SUM,
    Tolerance,
    compared,
    same_winners,
    tolerances_of,
    unit_of,
)
from linkselect.reproduction._paper_page import shown, shown_difference
from linkselect.reproduction._papers import load_paper
from linkselect.reproduction._results_folder import read_cells, read_records

YEAR_2020 = "similarity-constraint-score-2020"
REASONS = Path(__file__).with_name("reasons.csv")

# What a table is asked for, where it is not the first step of its unit.
ASKED = {
    (YEAR_2020, 3): Tolerance(3.0),
    (YEAR_2020, 4): Tolerance(0.1, relative=True),
    (YEAR_2020, 6): Tolerance(4.0),
    (YEAR_2020, 8): Tolerance(3.0),
}


def measure_of(paper, table, cell):
    """Return what counts as agreement, or None where single numbers are not compared."""
    unit = unit_of(cell, table.unit_name)
    if unit in (AVERAGE_RANK, FEATURES):
        return tolerances_of(unit)[0]
    return ASKED.get((paper.name, table.number), next(iter(tolerances_of(unit)), None))


def reason_for(reasons, paper, table, cell):
    facts = {"paper": paper.name, "table": str(table.number), "dataset": cell.dataset}
    facts |= {"method": cell.method, "setting": cell.setting}
    for line in reasons:
        if all(not line[name] or line[name] == fact for name, fact in facts.items()):
            return line["reason"]
    return "not found"


def summary(paper, table, cells, record):
    start = f"| {table.number} | {record.runs}, seed {record.seed}"
    if table.unit_name.startswith(RANK_SUM):
        rows = same_winners(cells)
        return f"{start} | {len(rows)} rows | same winner | {sum(rows.values())} |"
    lines = []
    for measure in dict.fromkeys(measure_of(paper, table, cell) for cell in cells):
        same = [cell for cell in cells if measure_of(paper, table, cell) == measure]
        if measure is None:
            lines.append(f"{start} | {len(same)} | not compared number by number | |")
            continue
        what = "" if len(same) == len(cells) else f"{unit_of(same[0], table.unit_name)}: "
        held, found = sum(map(measure.agrees, same)), ""
        if not measure.relative:
            steps = tolerances_of(unit_of(same[0], table.unit_name))
            counts = [f"{sum(map(step.agrees, same))} within {step}" for step in steps]
            found = f" ({', '.join(counts)})"
        lines.append(f"{start} | {len(same)} | {what}within {measure} | {held}{found} |")
    return "\n".join(lines)


def disagreements(paper, table, cells, reasons):
    if table.unit_name.startswith(RANK_SUM):
        yield from lost_rows(paper, table, cells, reasons)
        return
    for cell in cells:
        measure = measure_of(paper, table, cell)
        if measure is not None and not measure.agrees(cell):
            unit = unit_of(cell, table.unit_name)
            numbers = [shown(value, unit) for value in (cell.published, cell.ours)]
            numbers.append(shown_difference(cell, unit))
            names = [cell.dataset, table.shown_method(cell.method), cell.setting]
            why = reason_for(reasons, paper, table, cell)
            yield row(table.number, *names, *numbers, why)


def lost_rows(paper, table, cells, reasons):
    """Name the winners of rows that another method wins here."""
    for (dataset, setting), same in same_winners(cells).items():
        if not same:
            line = [c for c in cells if (c.dataset, c.setting) == (dataset, setting)]
            told = min(line, key=lambda cell: cell.published)
            ours = min(line, key=lambda cell: cell.ours)
            why = reason_for(reasons, paper, table, told)
            yield row(table.number, dataset, "winner", setting, told.method, ours.method, "", why)


def row(*fields):
    # A bar inside a field, as in |M|, would end it.
    return f"| {' | '.join(str(field).replace('|', chr(92) + '|') for field in fields)} |"


def tables_part(paper, folder, reasons):
    records = read_records(folder)
    tables = [
        (table, compared(read_cells(folder / f"table-{table.number}.csv")))
        for table in paper.tables.values()
        if table.name in records
    ]
    if not tables:
        return []
    off = [line for table, cells in tables for line in disagreements(paper, table, cells, reasons)]
    return [
        "| table | runs | cells | agreement | how many |",
        "|---|---|---|---|---|",
        *(summary(paper, table, cells, records[table.name]) for table, cells in tables),
        "",
        "Cells that do not agree:",
        "",
        "| table | data | method | setting | published | ours | difference | reason found |",
        "|---|---|---|---|---|---|---|---|",
        *off,
        "",
    ]


def claims_part(folder):
    lines = [
        row(f"{record.part} ({record.runs}, seed {record.seed})", claim.text, held, claim.found)
        for record in read_records(folder).values()
        for claim in record.claims
        for held in ("yes" if claim.held else "no",)
    ]
    head = ["| where | claim | held | found |", "|---|---|---|---|"]
    return [*head, *lines, ""] if lines else []


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
