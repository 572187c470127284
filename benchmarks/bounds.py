"""Search for inputs whose errors come closest to the bounds of the fast paths.

`python benchmarks/bounds.py` prints the table, in about two minutes; `--write` puts it between the
marks of `docs/bounds.md`. A share above 1 would be a wrong bound, and the command fails.
"""

import argparse
import os
import sys
from pathlib import Path

# Threads would change the order of summation in products.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
from tests.helpers.bound_attacks import ATTACKS  # noqa: E402

PAGE = ROOT / "docs" / "bounds.md"
START, END = "<!-- bounds: start -->", "<!-- bounds: end -->"
ROUNDS = 150
SEEDS = range(3)


def largest_shares(rounds, seeds):
    """Return the largest share of its bound that each search found."""
    return {
        name: max(attack.search(np.random.default_rng(seed), rounds) for seed in seeds)
        for name, attack in ATTACKS.items()
    }


def table(shares):
    """Return the table: the largest error per bound, and the factor by which tests detect less."""
    lines = [
        "| bound | sums | largest error / bound | detected if smaller by |",
        "|---|---|---|---|",
    ]
    for name, share in shares.items():
        attack = ATTACKS[name]
        factor = f"{1 / share:.3g}"
        lines.append(f"| {attack.bound} | {attack.way} | {share:.3g} | {factor} |")
    return "\n".join(lines)


def write(text):
    before, rest = PAGE.read_text(encoding="utf-8").split(START)
    page = f"{before}{START}\n{text}\n{END}{rest.split(END)[1]}"
    PAGE.write_text(page, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the table into docs/bounds.md")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="changes tried per start")
    options = parser.parse_args()
    shares = largest_shares(options.rounds, SEEDS)
    said = (
        f"We used seeds {SEEDS.start} to {SEEDS.stop - 1}, with {options.rounds} changes per "
        "starting point."
    )
    text = f"{said}\n\n{table(shares)}"
    print(text)
    if options.write:
        write(text)
    return int(max(shares.values()) > 1)


if __name__ == "__main__":
    sys.exit(main())
