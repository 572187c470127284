"""Report in Markdown how closely `linkselect reproduce` reproduces the papers' tables.

`python benchmarks/agreement.py sparsity-score-2012=DIR ...` prints, for each paper, the number of
cells that agree, the cells that do not agree with the reason for each, and whether each claim
holds. With `--write docs/reproduction/PAGE.md`, the output replaces the text between the marks on
that page. The reasons are read from `benchmarks/reasons.csv`. The first line that matches a cell is
used; an empty field matches every cell.
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
from linkselect.reproduction._paper_page import shown
from linkselect.reproduction._papers import load_paper
from linkselect.reproduction._results_folder import read_cells, read_records

YEAR_2020 = "similarity-constraint-score-2020"
REASONS = Path(__file__).with_name("reasons.csv")

SUMMARY = "Agreement by table:"
DISAGREEMENTS = "Cells that do not agree:"
CLAIMS = "Claims of the paper:"

# Tolerances of tables that do not use the first tolerance of their unit.
ASKED = {
    (YEAR_2020, 3): Tolerance(3.0),
    (YEAR_2020, 4): Tolerance(0.1, relative=True),
    (YEAR_2020, 6): Tolerance(4.0),
    (YEAR_2020, 8): Tolerance(3.0),
}


def measure_of(paper, table, cell):
    """Return the tolerance for a cell, or None if its number is not compared."""
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
            lines.append(f"{start} | {len(same)} | not compared | |")
            continue
        unit = unit_of(same[0], table.unit_name)
        what = "" if len(same) == len(cells) else f"{unit}: "
        found = str(sum(map(measure.agrees, same)))
        if not measure.relative:
            others = [step for step in tolerances_of(unit) if step != measure]
            counts = [f"{sum(map(step.agrees, same))} within {step}" for step in others]
            found += f" ({', '.join(counts)})"
        lines.append(f"{start} | {len(same)} | {what}within {measure} | {found} |")
    return "\n".join(lines)


def disagreements(paper, table, cells, reasons):
    """Yield the data set, method, setting, both numbers and reason of each cell that disagrees."""
    if table.unit_name.startswith(RANK_SUM):
        yield from lost_rows(paper, table, cells, reasons)
        return
    for cell in cells:
        measure = measure_of(paper, table, cell)
        if measure is not None and not measure.agrees(cell):
            unit = unit_of(cell, table.unit_name)
            numbers = [shown(value, unit) for value in (cell.published, cell.ours)]
            why = reason_for(reasons, paper, table, cell)
            yield cell.dataset, table.shown_method(cell.method), cell.setting, *numbers, why


def lost_rows(paper, table, cells, reasons):
    """Yield the rows in which our best method differs from the published one, with both names."""
    for (dataset, setting), same in same_winners(cells).items():
        if not same:
            line = [c for c in cells if (c.dataset, c.setting) == (dataset, setting)]
            published = min(line, key=lambda cell: cell.published)
            ours = min(line, key=lambda cell: cell.ours)
            why = reason_for(reasons, paper, table, published)
            yield dataset, "winner", setting, published.method, ours.method, why


def disagreement_table(number, off, notes):
    """Return a table of the cells that disagree, with a column for each method and setting.

    `notes` maps each reason to its number; new reasons are added.
    """
    settings = [[part.strip() for part in setting.split(",")] for _, _, setting, *_ in off]
    common = [part for part in settings[0] if all(part in parts for parts in settings)]
    rows, columns = {}, {}
    for (dataset, method, _, published, ours, why), parts in zip(off, settings, strict=True):
        column = ", ".join([method, *(part for part in parts if part and part not in common)])
        note = notes.setdefault(why, len(notes) + 1)
        columns[column] = None
        rows.setdefault(dataset, {})[column] = f"{published} → {ours} ({note})"
    # Numeric order within names: 4 constraints come before 10.
    columns = sorted(
        columns,
        key=lambda name: [
            int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)
        ],
    )
    under = f" ({', '.join(common)})" if any(common) else ""
    return [
        f"Table {number}{under}, published → ours (reason):",
        "",
        row("data", *columns),
        "|---" * (1 + len(columns)) + "|",
        *(
            row(name, *(cells.get(column, "") for column in columns))
            for name, cells in rows.items()
        ),
        "",
    ]


def row(*fields):
    # An unescaped bar in a field, as in |M|, would end the field.
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
    lines = [
        SUMMARY,
        "",
        "| table | runs | cells | criterion | cells that agree |",
        "|---|---|---|---|---|",
        *(summary(paper, table, cells, records[table.name]) for table, cells in tables),
        "",
        DISAGREEMENTS,
        "",
    ]
    notes = {}
    for table, cells in tables:
        off = list(disagreements(paper, table, cells, reasons))
        lines += disagreement_table(table.number, off, notes) if off else []
    return [*lines, "Reasons:", "", *(f"{number}. {why}." for why, number in notes.items()), ""]


def claims_part(folder):
    records = [record for record in read_records(folder).values() if record.claims]
    lines = [
        row(record.part, claim.text, "yes" if claim.held else "no", claim.found)
        for record in records
        for claim in record.claims
    ]
    if not lines:
        return []
    figures = (record for record in records if record.part.startswith("Figure"))
    runs = [
        f"{record.part} is based on {record.runs} with seed {record.seed}." for record in figures
    ]
    made = [" ".join(runs), ""] if runs else []
    return [*made, CLAIMS, "", "| part | claim | holds | found |", "|---|---|---|---|", *lines, ""]


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
