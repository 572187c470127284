"""Tables of the results of stored.py; for moments, the largest size of each."""

from statistics import median

SHORT = {
    "VarianceScore nothing": "Variance",
    "FisherScore all": "Fisher, all labels",
    "ConstraintScore all": "Constraint, all labels",
    "ConstraintScore pairs": "Constraint, 100 pairs",
    "FisherScore": "Fisher",
    "ConstraintScore": "Constraint, 100 pairs",
    "LaplacianScore": "Laplacian",
    "ConstrainedLaplacianScore": "CLS",
    "CompensatedLaplacianScore": "CCLS",
}
KIND = {
    "parquet": "Parquet",
    "zarr": "Zarr",
    "npy": "`.npy`",
    "memory": "memory",
    "before": "memory, before",
}

READING = {"library": "loading the file", "slabs": "reading parts only"}


def short(method):
    return SHORT.get(method, method)


def largest(found, stage):
    """Return the result of the largest size of a stage by (kind, method)."""
    best = {}
    for key, result in found.items():
        first, *sizes, kind, method = key.split("/")
        if first != stage:
            continue
        size = tuple(int(one) for one in sizes)
        if (kind, method) not in best or best[kind, method][0] < size:
            best[kind, method] = size, result
    return best


def table(head, rows):
    return [
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]


def seconds(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def apart(result, kind):
    """Return the difference of scores from those in memory."""
    if "difference" not in result or kind == "memory":
        return "-"
    return "identical" if result["difference"] == 0 else f"{result['difference']:.0e}"


def moments_table(found):
    rows = []
    read = {key: result["cpu"] for key, result in found.items() if key.startswith("read/")}
    for (kind, how), ((n_rows,), result) in largest(found, "read").items():
        library = {"parquet": "pyarrow", "zarr": "zarr"}[kind]
        name = f"reading by {library}" if how == "library" else "reading as slabs"
        start = [name, KIND[kind], f"{n_rows:,}", seconds(result["cpu"])]
        rows.append([*start, "-", "-", str(result["anonymous"]), "-"])
    for (kind, method), ((n_rows,), result) in largest(found, "moments").items():
        start = [short(method), KIND[kind], f"{n_rows:,}", seconds(result["cpu"])]
        units = [read.get(f"read/{n_rows}/{kind}/{how}") for how in ("library", "slabs")]
        ratios = [f"{result['cpu'] / unit:.1f}" if unit else "-" for unit in units]
        rows.append([*start, *ratios, f"{result['anonymous']:,}", apart(result, kind)])
    head = ["method", "X", "rows", "CPU s", "ratio to reading by the library"]
    head.append("ratio to reading slabs")
    return table([*head, "`RssAnon`, MB", "difference from memory"], rows)


def search_table(found):
    rows = []
    for key, result in sorted(found.items(), key=order):
        stage, *sizes, kind, method = key.split("/")
        if stage == "search":
            start = [short(method), KIND[kind], *(f"{int(size):,}" for size in sizes)]
            ratio = f"{result['cpu'] / result['products']:.2f}"
            numbers = [f"{result['searched']:,}", seconds(result["cpu"]), ratio]
            rows.append([*start, *numbers, f"{result['anonymous']:,}", apart(result, kind)])
    head = ["method", "X", "rows", "`max_queries`", "rows searched", "CPU s", "ratio to products"]
    return table([*head, "`RssAnon`, MB", "difference from memory"], rows)


def order(item):
    """Put small sizes first, then methods and kinds as they were measured."""
    return [int(one) for one in item[0].split("/") if one.isdigit()]


def wide_table(found):
    rows = []
    for key, result in sorted(found.items(), key=order):
        stage, *sizes, kind, method = key.split("/")
        if stage not in {"load", "wide"}:
            continue
        name = READING.get(method) or short(method)
        start = [name, KIND[kind], f"500 x {int(sizes[0]):,}", seconds(result["cpu"])]
        numbers = [*in_memory(found, key), f"{result['anonymous']:,}", apart(result, kind)]
        rows.append([*start, *numbers])
    head = ["method", "X", "size", "CPU s", "ratio to memory"]
    head.append("ratio to memory before")
    head += ["of that, reading", "with loading"]
    return table([*head, "`RssAnon`, MB", "difference from memory"], rows)


def in_memory(found, key):
    """Return ratios of a fit to a wide file to memory: now, before, and before with loading.

    The third ratio is of reading parts only, which is the lower limit of any fit to the file.
    """
    stage, n_columns, kind, method = key.split("/")
    if stage == "load" or kind in {"memory", "before"}:
        return ["-"] * 4
    now, before = (found.get(f"wide/{n_columns}/{one}/{method}") for one in ("memory", "before"))
    load, read = (found.get(f"load/{n_columns}/{kind}/{how}") for how in ("library", "slabs"))
    both = before and load and {"cpu": before["cpu"] + load["cpu"]}
    own = found[key]
    return [
        f"{one['cpu'] / unit['cpu']:.2f}" if one and unit else "-"
        for one, unit in [(own, now), (own, before), (read, before), (own, both)]
    ]


def cluster_table(found):
    rows = []
    for (method, how), ((n_rows,), result) in largest(found, "cluster").items():
        threads = found.get(f"cluster/{n_rows}/{method}/threads", {}).get("digest")
        same = "identical" if result.get("digest") == threads else "**different**"
        error = result.get("error", "").partition(": ")[2]
        memory = str(result.get("workers", result["anonymous"]))
        start = [short(method), f"{n_rows:,}", who(how, result), f"{result['wall']:.0f}"]
        rows.append([*start, memory, f"*{error}*" if error else same])
    head = ["method", "rows", "workers", "wall s", "`RssAnon` of a process, MB", "result"]
    return table(head, rows)


def who(how, result):
    """Return the number of workers, and when some were killed."""
    number, _, fate = how.partition(" ")
    if not number.isdigit():
        return "one thread"
    workers = f"{number} worker{'s' if number != '1' else ''}"
    after = f" after {result['killed'][0]:.0f} s" if result.get("killed") else ""
    return (
        workers
        + {"": "", "killed": ", one killed", "gone": "; all killed permanently"}[fate]
        + after
    )


def before_table(found):
    rounds = {}
    for key, result in found.items():
        stage, number, *version = key.split("/")
        if stage == "before":
            rounds.setdefault(number, {})[version[0]] = result
    whole = [one for one in rounds.values() if len(one) == 2]
    rows = []
    for name in whole[0]["now"] if whole else ():
        if name == "anonymous":
            continue
        method, shape = name.split(" ", 1)
        old, new = ([one[version][name] for one in whole] for version in ("before", "now"))
        ratios = sorted(b / a for a, b in zip(old, new, strict=True))
        spread = f"{median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        rows.append([short(method), shape, f"{median(old):.2f}", f"{median(new):.2f}", spread])
    return table(["method", "size", "CPU s before", "now", f"ratio, {len(whole)} rounds"], rows)


def awkward_table(found):
    rows = []
    for key, result in found.items():
        stage, n_rows, *name = key.split("/")
        if stage == "awkward":
            outcome = f"*{result['error']}*" if result.get("error") else "fitted"
            start = [name[0], f"{int(n_rows):,}", seconds(result["cpu"])]
            rows.append([*start, str(result["anonymous"]), outcome])
    return table(["file", "rows", "CPU s", "`RssAnon`, MB", "result"], rows)


TABLES = {
    "moments": moments_table,
    "search": search_table,
    "wide": wide_table,
    "cluster": cluster_table,
    "before": before_table,
    "awkward": awkward_table,
}
