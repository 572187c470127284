"""Check and measure the words of the project.

    python docs/language.py                  # list phrases that docs/decisions/language.md rejects
    python docs/language.py words            # count words by part of the documentation
    python docs/language.py sample --seed 1  # draw sentences to be rated by a reader

A word is a token that contains a letter; tables and code blocks count.
"""

import argparse
import ast
import csv
import inspect
import random
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
RULES = DOCS / "decisions" / "language.md"
CHECKED = {".py", ".md", ".rst", ".html", ".js", ".toml", ".json", ".yml"}
# Quotes phrases that are rejected, or records what older versions printed.
EXEMPT = (
    *("docs/decisions/language.md", "docs/decisions/sentences.csv"),
    *("tests/docs/test_language.py", "CHANGELOG.md"),
)
# Pages for developers and about the evidence; every other page is part of the users' manual.
SECOND_PART = {
    *("add_a_method", "building_blocks", "changes", "contributing", "decisions", "deprecations"),
    *("development", "public"),
    *("asking_simulation", "benchmarks", "bounds", "calibration", "evidence", "pairs_alone"),
    *("number_of_features", "reliability", "reproduction", "scale", "similarity", "sparsity"),
    "verification",
}
LIMITS = {"README": 750, "manual": 18_000, "development and evidence": 27_000}
KINDS = ("message", "docstring", "page")


def rejected():
    """Return a pattern for each phrase in the left column of the table of rules."""
    rows = re.findall(r"^\| (`.*?`) \| (.*) \|$", RULES.read_text(encoding="utf-8"), re.MULTILINE)
    for cell, better in rows:
        for phrase in re.findall(r"`(.+?)`", cell):
            words = re.escape(phrase).replace(r"\ \*\ ", r"\s(?:\S+\s){1,4}").replace(r"\ ", r"\s+")
            yield re.compile(rf"\b{words}(?:\b|(?<=\s))", re.IGNORECASE), better


def tracked():
    """Return the files of text that git lists."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in sorted(filter(None, names.split("\0"))):
        if Path(name).suffix in CHECKED and (ROOT / name).is_file():
            yield name


def violations():
    """Yield the place of each rejected phrase, and what to write instead."""
    rules = list(rejected())
    for name in set(tracked()).difference(EXEMPT):
        text = (ROOT / name).read_text(encoding="utf-8")
        for pattern, better in rules:
            for found in pattern.finditer(text):
                line = text.count("\n", 0, found.start()) + 1
                yield f"{name}:{line}: {' '.join(found[0].split())!r} -> {better}"


def count_words(text):
    """Count the tokens that contain a letter.

    Examples
    --------
    >>> count_words("| 20 pairs | 70.4 |")
    1
    """
    return sum(bool(re.search("[A-Za-z]", token)) for token in text.split())


def words_by_part():
    """Return the number of words of README, the manual, and the second part, page by page."""
    parts = {part: {} for part in LIMITS}
    parts["README"]["README.md"] = count_words((ROOT / "README.md").read_text(encoding="utf-8"))
    for name in tracked():
        page = Path(name)
        if page.parts[0] != "docs" or page.suffix != ".md":
            continue
        second = page.parts[1].removesuffix(".md") in SECOND_PART
        part = "development and evidence" if second else "manual"
        source = ROOT / "CONTRIBUTING.md" if page.stem == "contributing" else ROOT / page
        parts[part][name] = count_words(source.read_text(encoding="utf-8"))
    return parts


def text_of(node):
    """Return the text of a string, with the expressions of an f-string in braces."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            part.value if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"
            for part in node.values
        )
    return ""


def sentences(text):
    """Yield the sentences of a text, over several lines or in items of a list."""
    # Headings of sections and names of parameters are not sentences.
    text = re.sub(r"^.*\n *-{3,}$|^ *[\w*, ]+ : .*$", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"^( *)\**\w[\w*, ]*\n(?=\1 {4}\S)", "\n\n", text, flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|\n\s*(?:-|\d+\.) ", text):
        for one in re.split(r"(?<=[.!?])\s+(?=[A-Z`])", " ".join(paragraph.split())):
            if (
                one[:1].isupper()
                and one[-1] in ".!?"
                and count_words(one) >= 5
                and ">>>" not in one
            ):
                yield one


def prose(page):
    """Return a page without code, tables, images and headings."""
    text = re.sub(r"^(`{3,}|:{3,}).*?^\1", "", page, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"^(\||#|!\[|<!--|\(|\s*$).*$", "", text, flags=re.MULTILINE)


def all_sentences():
    """Return the sentences of messages, docstrings and pages, each with its file."""
    found = {kind: [] for kind in KINDS}
    for name in tracked():
        text = (ROOT / name).read_text(encoding="utf-8")
        if name.startswith("docs/") and name.endswith(".md") and name not in EXEMPT:
            found["page"] += [(name, one) for one in sentences(prose(text))]
        if not (name.startswith("src/") and name.endswith(".py")):
            continue
        tree = ast.parse(text)
        # Also the strings below the fields of a class.
        described = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts = (inspect.cleandoc(text_of(node)) for node in described)
        found["docstring"] += [(name, one) for text in texts for one in sentences(text)]
        inside = {
            part
            for node in ast.walk(tree)
            if isinstance(node, ast.JoinedStr)
            for part in node.values
        }
        messages = (text_of(node) for node in ast.walk(tree) if node not in described | inside)
        found["message"] += [(name, one) for text in messages for one in sentences(text)]
    return found


def main():
    """Run the check, the count or the draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", nargs="?", choices=["check", "words", "sample"], default="check")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, default=60)
    options = parser.parse_args()
    if options.task == "check":
        found = sorted(violations())
        sys.exit("\n".join(found) if found else 0)
    if options.task == "words":
        for part, pages in words_by_part().items():
            print(f"{sum(pages.values()):7,}  {part} (at most {LIMITS[part]:,})")
            for name, count in sorted(pages.items(), key=lambda item: -item[1]):
                print(f"{count:11,}  {name}")
        return
    draw = random.Random(options.seed)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["kind", "file", "sentence"])
    found = all_sentences()
    for kind in KINDS:
        chosen = draw.sample(found[kind], options.number // len(KINDS))
        writer.writerows((kind, name, one) for name, one in chosen)


if __name__ == "__main__":
    main()
