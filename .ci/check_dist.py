"""Check that the archives of `make dist` are complete, and that the wheel works when installed."""

import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "src/linkselect/"
# Files for contributors, not needed to build, test or use the library.
LEFT_OUT = (".ci/", ".github/", ".gitignore", ".pre-commit-config.yaml")
SMOKE = """
from importlib.metadata import version
from pathlib import Path
from sklearn.datasets import load_iris
import linkselect
from linkselect import ConstraintScore, Pairs

assert linkselect.__version__ == version("linkselect")
assert Path(linkselect.__file__).is_relative_to(Path(__import__("sys").prefix))
X, y = load_iris(return_X_y=True)
pairs = Pairs(must=[(0, 3), (60, 64)], cannot=[(0, 60), (3, 120)])
selector = ConstraintScore(n_features_to_select=2).fit(X, pairs=pairs)
assert selector.transform(X).shape == (150, 2)
print("linkselect", linkselect.__version__, "ranks iris:", selector.order_)
"""


def source_files():
    """Return the files of the checkout that git does not ignore."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {name for name in listed.splitlines() if (ROOT / name).is_file()}


def check_same(what, found, expected):
    """Exit if an archive lacks a file or contains an unexpected one."""
    if found != expected:
        lacks, extra = sorted(expected - found), sorted(found - expected)
        sys.exit(f"{what}\n  lacks {lacks}\n  should not contain {extra}")
    print(f"{what}: {len(found)} files, as in the checkout")


def check_wheel(wheel):
    """Compare the wheel with the package's folder: code, templates, tables, py.typed."""
    found = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = {name for name in source_files() if name.startswith(PACKAGE)}
    check_same(wheel.name, found, {name.removeprefix("src/") for name in expected})


def check_sdist(sdist):
    """Compare the sdist with the checkout."""
    with tarfile.open(sdist) as archive:
        members = [member.name for member in archive.getmembers() if member.isfile()]
    found = {name.split("/", 1)[1] for name in members} - {"PKG-INFO"}
    expected = {name for name in source_files() if not name.startswith(LEFT_OUT)}
    # hatchling adds the .gitignore that it applied.
    check_same(sdist.name, found - {".gitignore"}, expected)


def check_installed(wheel):
    """Install the wheel in a new environment, without and with the command line, and use it."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        scripts = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin")

        def run(*command):
            subprocess.run([scripts / command[0], *command[1:]], cwd=folder, check=True)

        pins = ROOT / "constraints.txt"
        install = ("pip", "install", "--quiet", "--disable-pip-version-check", "-c", pins)
        run(*install, wheel)
        run("python", "-W", "error", "-c", SMOKE)
        run(*install, f"{wheel}[cli]")
        run("linkselect", "--version")


def main(folder):
    """Check the wheel and the sdist in a folder."""
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    check_wheel(wheel)
    check_sdist(sdist)
    check_installed(wheel)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
