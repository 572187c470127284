"""Run the README in new environments with the oldest and the newest dependencies.

Each environment is extended from the core to `[cli]` to `[all]`, so that it contains what a user of
that extra has. At the end, a quick part of the tests runs.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
STAGES = ("core", "cli", "all")
TESTS = (
    "test_callbacks", "test_supervision", "test_fit_inputs", "test_messages", "test_notebook",
    "pairs/test_pairs", "pairs/test_pairs_html", "selectors/test_selector", "selectors/test_method",
    "selectors/test_ranking", "selectors/test_redundancy", "scores/test_scores",
)  # fmt: skip
# There are no wheels of NumPy 2.0, the oldest version allowed, for newer versions of Python.
NEWEST_PYTHON_OF_THE_OLDEST = (3, 12)
# Part of the error message if the extra for reports is missing.
WITHOUT_REPORT = "linkselect[report"


def main():
    """Check the requested environments, and print how long each stage took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("which", nargs="*", default=["oldest", "newest"])
    for which in parser.parse_args().which:
        if which == "oldest" and sys.version_info[:2] > NEWEST_PYTHON_OF_THE_OLDEST:
            print("oldest: skipped, because the oldest NumPy has no wheel for this Python")
            continue
        with tempfile.TemporaryDirectory() as folder:
            check(which, Path(folder))


def check(which, folder):
    """Extend one environment stage by stage, and run what should work at each stage."""
    venv.create(folder / "env", with_pip=True)
    scripts = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin")
    wheel = build(scripts, folder)
    pins = folder / "pins.txt"
    pins.write_text("\n".join(oldest_versions() if which == "oldest" else []))
    for stage in STAGES:
        start = time.perf_counter()
        install(scripts, pins, str(wheel) if stage == "core" else f"{wheel}[{stage}]")
        installed = time.perf_counter()
        run_snippets(scripts, folder)
        if stage != "core":
            run_commands(scripts, folder, with_reports=stage == "all")
        print(
            f"{which} {stage}: {versions(scripts)}; installed in {installed - start:.0f} s, "
            f"README run in {time.perf_counter() - installed:.0f} s",
            flush=True,
        )
    install(scripts, pins, "pytest", "hypothesis", "polars")
    run_tests(scripts)


def build(scripts, folder):
    """Return a wheel of the checkout."""
    run(scripts, "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT)
    return next(folder.glob("*.whl"))


def oldest_versions():
    """Pin every dependency of users and of the tests to the lowest release allowed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    used = re.findall(r"\w+", re.search(r"\[(.*)\]", extras["all"][0])[1])
    listed = [*project["dependencies"], *(each for name in used for each in extras[name])]
    listed += [each for each in extras["test"] if each.startswith("polars")]
    # Extras that contain other extras add nothing: their packages are in the list.
    return [lowest(each) for each in listed if not each.startswith("linkselect")]


def lowest(requirement):
    """Turn `name>=1.2,<2` into `name==1.2.*`, the bug fixes of the lowest release."""
    name, version = re.match(r"([\w-]+)>=([\d.]+)", requirement).groups()
    return f"{name}=={version if '.' in version else version + '.0'}.*"


def install(scripts, pins, *what):
    """Install packages, within the pins."""
    run(scripts, "pip", "install", "--quiet", "--disable-pip-version-check", "-c", pins, *what)


def versions(scripts):
    """Return the installed versions of the main libraries."""
    listed = run(scripts, "pip", "list", "--format=freeze", capture_output=True).stdout
    names = ("numpy", "scipy", "scikit-learn", "pandas")
    return " ".join(line for line in listed.splitlines() if line.split("==")[0] in names)


def run(scripts, program, *arguments, **options):
    """Run a program of the environment, without access to the packages of the checkout."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    options = {"check": True, "text": True, "env": clean} | options
    return subprocess.run([scripts / program, *arguments], **options)


def blocks(language):
    """Return the blocks of the README in a language."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def run_snippets(scripts, folder):
    """Run every Python block on its own."""
    for block in blocks("python"):
        run(scripts, "python", "-W", "error", "-c", block, cwd=folder, stdout=subprocess.DEVNULL)


def run_commands(scripts, folder, with_reports):
    """Run every linkselect command; without the extra for reports, the error must name it."""
    write_tables(scripts, folder)
    lines = "\n".join(blocks("console")).replace("\\\n", " ").splitlines()
    for line in (line[2:] for line in lines if line.startswith("$ linkselect")):
        done = run(
            scripts, *shlex.split(line), cwd=folder, check=False, capture_output=True
        )  # fmt: skip
        lacks_extra = "--report" in line and not with_reports
        if done.returncode != (1 if lacks_extra else 0):
            sys.exit(f"$ {line}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")
        if (lacks_extra or "demo" in line) and not with_reports:
            said = re.sub(r"\s", "", done.stdout + done.stderr)
            if WITHOUT_REPORT not in said:
                sys.exit(f"$ {line}\ndid not name {WITHOUT_REPORT}:\n{done.stdout}{done.stderr}")


TABLES = """
import csv
from sklearn.datasets import load_breast_cancer

data = load_breast_cancer()
rows = [[*map(float, row[:7]), int(label)] for row, label in zip(data.data[:120], data.target)]
names = [*data.feature_names[:7], "class"]
with open("my.csv", "w", newline="") as file:
    csv.writer(file).writerows([names, *rows])
with open("patients.csv", "w", newline="") as file:
    csv.writer(file).writerows(
        [["patient", *names], *([f"p{number}", *row] for number, row in enumerate(rows))]
    )
with open("pairs.csv", "w") as file:
    file.write("a,b,link\\np0,p1,must\\np2,p3,must\\np19,p20,must\\n")
    file.write("p0,p19,cannot\\np1,p21,cannot\\np2,p37,cannot\\n")
"""


def write_tables(scripts, folder):
    """Write the files that the README assumes."""
    run(scripts, "python", "-c", TABLES, cwd=folder)


def run_tests(scripts):
    """Run a quick part of the tests; warnings are allowed because old libraries cause them."""
    files = [ROOT / "tests" / f"{name}.py" for name in TESTS]
    options = ("-q", "-W", "default", "-p", "no:cacheprovider", "-m", "not slow")
    few = ("--no-header", "--disable-warnings")
    run(scripts, "python", "-m", "pytest", *options, *few, *files, cwd=ROOT)


if __name__ == "__main__":
    main()
