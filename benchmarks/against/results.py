"""Tables of the measurements: growth, ratios with their range, and reasons for a missing ratio."""

import re
from statistics import median

import numpy as np

OURS = "linkselect"
SUMMARY = re.compile(r"<!-- summary of make bench -->\n(.*?)<!-- end of summary -->", re.DOTALL)
SUMMARY_HEAD = (
    "| what | linkselect | alternative | its time | ratio | outputs |",
    "|---|---|---|---|---|---|",
)


def growth(sizes, seconds):
    """Fit `seconds = c * samples^a * features^b` by least squares in logarithms; return a and b.

    An exponent is None if the sizes do not vary along it.
    """
    logs = np.log(np.asarray(sizes, dtype=float))
    varies = np.ptp(logs, axis=0) > 0
    table = np.column_stack([np.ones(len(logs)), logs[:, varies]])
    if len(logs) < table.shape[1]:
        return None, None
    found = iter(np.linalg.lstsq(table, np.log(seconds), rcond=None)[0][1:])
    return tuple(float(next(found)) if along else None for along in varies)


def ratio_range(ours, other):
    """Return the median, smallest and largest ratio of the other's time to ours over the turns."""
    ratios = [theirs / mine for mine, theirs in zip(ours, other, strict=False)]
    return (median(ratios), min(ratios), max(ratios)) if ratios else None


def shown_number(value):
    """Return a number with two or three significant digits."""
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def shown_seconds(value):
    return f"{value * 1000:.2g} ms" if value < 0.01 else f"{shown_number(value)} s"


def shown_memory(peak):
    if peak is None:
        return "?"
    megabytes = peak / 2**20
    return f"{megabytes:,.0f} MB" if megabytes >= 1 else "under 1 MB"


def shown_ratio(found):
    middle, least, most = map(shown_number, found)
    return f"{middle} ({least} to {most})"


def shown_size(size):
    return f"{size[0]:,} x {size[1]:,}"


def verdict(contender, ours, measured, *, brief=False):
    """Return the ratio as text, or "" if there is none, and a remark on the outputs.

    If brief, the remark omits what holds at every size.
    """
    if measured["failed"]:
        return "", measured["failed"]
    ratio = ratio_range(ours["seconds"], measured["seconds"])
    if ratio is None:
        return "", "not timed"
    if contender.limit:
        times = ratio_range(measured["seconds"], ours["seconds"])
        return "", f"lower limit; linkselect takes {shown_ratio(times)} times as long"
    agreement = measured["agreement"]
    if contender.other:
        why = "" if brief else f"other definition: {contender.other}; "
        return "", why + agreement["found"]
    if not agreement["same"]:
        return "", f"no ratio, since outputs differ: {agreement['found']}"
    how = f" ({contender.how})" if contender.how and not brief else ""
    return shown_ratio(ratio), ahead(contender, ratio, brief) + agreement["found"] + how


def ahead(contender, ratio, brief):
    """Return a remark if the alternative is faster, with the reason."""
    middle, _, most = ratio
    if middle >= 1:
        return ""
    place = "**faster than linkselect**" if most < 1 else "**faster in most turns**"
    return f"{place}; " if brief else f"{place}: {contender.ahead or 'reason unknown'}; "


def largest(records, name):
    """Return the record of the largest size at which a contender was timed, else the last one."""
    asked = [record for record in records if name in record["found"]]
    timed = [record for record in asked if record["found"][name]["seconds"]]
    return (timed or asked or records)[-1]


def row(*fields):
    return f"| {' | '.join(str(field).replace('|', chr(92) + '|') for field in fields)} |"


def summary_rows(task, records):
    """Yield one row for each alternative, at the largest size at which it was timed."""
    others = [c for c in task.contenders if c.name != OURS]
    if all(contender.own for contender in others):
        ours = records[-1]["found"][OURS]
        yield row(what(task, records[-1]), shown_time(ours), "no alternative", "", "", "")
    for contender in others:
        record = largest(records, contender.name)
        ours, measured = record["found"][OURS], record["found"][contender.name]
        ratio, said = verdict(contender, ours, measured)
        if record["size"] != records[-1]["size"]:
            said += "; larger sizes skipped"
        name = f"{contender.name} `{contender.call}`" if contender.call else contender.name
        times = shown_time(ours), name, shown_time(measured)
        yield row(what(task, record), *times, ratio, said)


def what(task, record):
    """Return the method, the size, and the data unless they were generated."""
    data = "" if record["data"] == "generated" else f", {record['data']}"
    return f"{task.title}, {shown_size(record['size'])}{data}"


def shown_time(measured):
    return shown_seconds(median(measured["seconds"])) if measured["seconds"] else ""


def size_rows(task, records):
    """Yield one row for each size and contender: time, peak memory, ratio."""
    for record in records:
        ours = record["found"][OURS]
        for contender in task.contenders:
            measured = record["found"].get(contender.name)
            if measured is None:
                continue
            ratio, said = ("", measured["failed"] or "")
            if contender.name != OURS:
                ratio, said = verdict(contender, ours, measured, brief=True)
            turns = len(measured["seconds"])
            size, peak = shown_size(record["size"]), shown_memory(measured["peak"])
            yield row(size, contender.name, shown_time(measured), peak, turns, ratio, said)


def remarks(task):
    """Yield the remarks on alternatives that hold at every size."""
    for contender in task.contenders:
        if contender.other:
            yield f"{contender.name} has another definition: {contender.other}."
        if contender.how:
            yield f"Compared with {contender.name}: {contender.how}."


def growth_rows(task, records):
    """Yield one row for each contender: the exponents in samples and in features."""
    for contender in task.contenders:
        timed = [
            (r["size"], median(r["found"][contender.name]["seconds"]))
            for r in records
            if r["found"].get(contender.name, {}).get("seconds")
        ]
        if len(timed) < 3:
            continue
        exponents = growth([size for size, _ in timed], [seconds for _, seconds in timed])
        shown = ["" if value is None else f"{value:.1f}" for value in exponents]
        yield row(f"{task.title}, up to {shown_size(timed[-1][0])}", contender.name, *shown)


def summary_table(tasks, records):
    """Return the table that docs/benchmarks.md also shows."""
    lines = [line for name, found in records.items() for line in summary_rows(tasks[name], found)]
    return "\n".join([*SUMMARY_HEAD, *lines])


def summary_of(page):
    """Return the table between the marks of a page."""
    return SUMMARY.search(page)[1].rstrip("\n")


def speed_lines(table):
    """Return the line of README: the smallest, the largest and the median ratio of the table."""
    rows = [re.split(r" (?<!\\)\| ", line.strip("| ")) for line in table.splitlines()[2:]]
    ratios = sorted((float(one[4].split()[0]), one) for one in rows if len(one) > 4 and one[4])

    def shown_case(place):
        ratio, one = ratios[place]
        return f"{shown_number(ratio)} times ({one[0].split(',')[0]}, {one[2].split()[0]})"

    middle = shown_number(median(ratio for ratio, _ in ratios))
    return [
        f"- **Speed.** In {len(ratios)} comparisons with equal output, linkselect is "
        f"{shown_case(0)} to {shown_case(-1)} as",
        f"  fast, median {middle}. [Speed and memory](docs/benchmarks.md)",
    ]


def results_page(tasks, records, machine):
    """Return the whole page of results."""
    lines = [
        "# What `make bench` measured",
        "",
        "Written by the command. [How it is measured](../docs/benchmarks.md) explains the columns.",
        "",
        "<!-- measured -->",
        "",
        "| | |",
        "|---|---|",
        *(row(name, value) for name, value in machine.items()),
        "",
        "<!-- summary of make bench -->",
        summary_table(tasks, records),
        "<!-- end of summary -->",
        "",
        "### Growth",
        "",
        "Exponents of the growth of time with the number of samples and of features.",
        "",
        "| what | library | samples | features |",
        "|---|---|---|---|",
        *(line for name, found in records.items() for line in growth_rows(tasks[name], found)),
        "",
        "### All sizes",
        "",
    ]
    for name, found in records.items():
        lines += [
            f"#### {tasks[name].title} (`{name}`)",
            "",
            " ".join([f"Data: {found[-1]['data']}.", *remarks(tasks[name])]),
            "",
            "| size | library | seconds | peak memory | turns | ratio | outputs |",
            "|---|---|---|---|---|---|---|",
            *size_rows(tasks[name], found),
            "",
        ]
    return "\n".join(lines)
