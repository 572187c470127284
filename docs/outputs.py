"""Update the outputs below the commands in the documentation: `python docs/outputs.py --write`.

The commands of a page run one after another in a folder that contains the example tables. A test
also runs them and compares the outputs except for numbers.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from made_data import make_recipe_data
from sklearn.datasets import load_breast_cancer

DOCS = Path(__file__).parent
BUILT = {"_build", "auto_examples", "generated"}
CONSOLE = re.compile(r"^```console\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
PROMPT = "$ linkselect"
MORE = "..."
# Maximum number of lines of an output that a page shows.
LINES = 24


def pages():
    """Return the pages that are written by hand."""
    return [page for page in sorted(DOCS.rglob("*.md")) if not BUILT & set(page.parts)]


def make_tables(folder, page):
    """Write the files that a page assumes: tables, and pairs that refer to an id column."""
    if page.parent.name == "recipes":
        make_recipe_data(folder)
    frame = load_breast_cancer(as_frame=True).frame.iloc[:120, -8:]
    frame = frame.rename(columns={"target": "class"})
    frame.to_csv(folder / "my.csv", index=False)
    frame.insert(0, "patient", [f"p{row}" for row in range(len(frame))])
    frame.to_csv(folder / "patients.csv", index=False)
    ill, well = (np.flatnonzero(frame["class"] == one) for one in (0, 1))
    must = np.concatenate([ill[:20], well[:20]]).reshape(-1, 2)
    cannot = zip(ill[20:40], well[20:40], strict=True)
    links = [f"p{a},p{b},must" for a, b in must] + [f"p{a},p{b},cannot" for a, b in cannot]
    (folder / "pairs.csv").write_text("\n".join(["a,b,link", *links, ""]))


def sessions(text):
    """Yield each command of a page, with the lines of output below it."""
    for block in CONSOLE.findall(text):
        command, output = None, []
        for line in block.splitlines():
            continued = command is not None and command.endswith("\\")
            if line.startswith("$") or continued:
                if command is not None and not continued:
                    yield command, output
                command = f"{command}\n{line}" if continued else line
                output = []
            else:
                output.append(line)
        if command is not None:
            yield command, output


def arguments(command):
    """Split a command as a shell does, without the prompt and `linkselect`."""
    return shlex.split(command.replace("\\\n", " "))[2:]


def printed(command, folder):
    """Run a linkselect command and return the lines that it prints."""
    call = [sys.executable, "-m", "linkselect", *arguments(command)]
    width = os.environ | {"COLUMNS": "80"}
    done = subprocess.run(
        call, cwd=folder, env=width, check=True, capture_output=True, text=True, encoding="utf-8"
    )
    return done.stdout.splitlines()


def shown(lines):
    """Shorten an output to the lines that a page shows."""
    lines = [line.rstrip() for line in lines]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    return lines if len(lines) <= LINES else [*lines[: LINES - 1], MORE]


def with_outputs(text, folder):
    """Return a page with updated outputs of linkselect commands."""

    def fresh(match):
        lines = []
        for command, output in sessions(match.group()):
            ours = command.startswith(PROMPT)
            output = shown(printed(command, folder) if ours else output)
            lines += [command, *output, *([""] if output else [])]
        return "\n".join(["```console", *lines]).rstrip() + "\n```"

    return CONSOLE.sub(fresh, text)


def skeleton(lines):
    """Replace numbers and widths, which depend on the machine and on versions."""
    return [re.sub(r"\s+", " ", re.sub(r"[\d.,]+(e[-+]\d+)?", "#", line)).strip() for line in lines]


def main():
    """Update the outputs, or name the pages whose outputs are out of date."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("pages", nargs="*", type=Path)
    options = parser.parse_args()
    stale = []
    for page in options.pages or pages():
        text = page.read_text(encoding="utf-8")
        if PROMPT not in text:
            continue
        with tempfile.TemporaryDirectory() as folder:
            make_tables(Path(folder), page)
            fresh = with_outputs(text, Path(folder))
        if skeleton(fresh.splitlines()) != skeleton(text.splitlines()):
            stale.append(page)
            if options.write:
                page.write_text(fresh, encoding="utf-8", newline="\n")
    for page in stale:
        print(f"{page} {'written' if options.write else 'is stale'}")
    return bool(stale) and not options.write


if __name__ == "__main__":
    sys.exit(main())
