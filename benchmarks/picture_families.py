"""Compare families of picture features, for a table in docs/recipes/pictures.md.

    python benchmarks/picture_families.py --draws 3 --write    # about 3 minutes on one core

Faces, digits and letters are turned into pictures and measured like a folder of pictures.
LinkSelector selects from 20 pairs, otherwise as in pairs_alone.py. No data set has colours, so most
features of the family color are constant.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from PIL import Image

import pairs_alone
from linkselect._pictures.picture_features import (
    DEFAULT_FAMILIES,
    FAMILIES,
    SIDE,
    measure,
    named_features,
)
from measured_pages import show

PAGE = Path(__file__).parents[1] / "docs" / "recipes" / "pictures.md"
# Height and width, and whether pixels are stored column by column.
SHAPES = {
    "binary_alphadigits": (20, 16, False),
    "mnist": (28, 28, False),
    "olivetti_64x64": (64, 64, True),
    "orl_32x32": (32, 32, True),
    "pie_32x32_first10": (32, 32, True),
    "umist_28x23": (28, 23, False),
    "usps": (16, 16, True),
    "warp_pie10p": (55, 44, True),
    "yale_32x32": (32, 32, True),
    "yaleb_32x32": (32, 32, True),
}
MOST_PICTURES = 400
TOGETHER = {
    **{f"`{name}`": (name,) for name in FAMILIES},
    "the default: `color,texture,hog`": DEFAULT_FAMILIES,
    "all four": tuple(FAMILIES),
}
RAW = "raw pixels"


def pictures_of(name):
    """Return pictures of a data set as shades from 0 to 255, the original values, and classes."""
    X, y = pairs_alone.read(name)
    rows = np.random.default_rng(0).permutation(len(X))[:MOST_PICTURES]
    X, y = X[rows].astype(float), y[rows]
    height, width, by_columns = SHAPES[name]
    shades = (255 * (X - X.min()) / np.ptp(X)).astype(np.uint8)
    upright = shades.reshape(-1, width, height).swapaxes(1, 2) if by_columns else shades
    return upright.reshape(-1, height, width), X, y


def measured(name, n_draws):
    """Return the mean accuracy over draws, of shape (features, classifiers)."""
    shades, X, y = pictures_of(name)
    large = (Image.fromarray(one).convert("RGB").resize((SIDE, SIDE)) for one in shades)
    values = np.array([measure(np.asarray(one) / 255.0) for one in large], dtype=float)
    places = {one.name: place for place, one in enumerate(named_features())}
    tables = {RAW: X}
    for label, families in TOGETHER.items():
        tables[label] = values[:, [places[one.name] for one in named_features(families)]]
    found = []
    for draw in range(n_draws):
        found.append([])
        for table in tables.values():
            data = pairs_alone.split(table[:, np.ptp(table, axis=0) > 0], y, draw)
            told = pairs_alone.known("20 pairs", data.y, draw)
            order = pairs_alone.order_of("LinkSelector", data.X, data.train, told)
            found[-1].append(pairs_alone.accuracy(data, order, forest_counts=())[:2])
    return np.mean(found, axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = np.array([measured(name, options.draws) for name in SHAPES])
    lead = found - found[:, :1]
    error = lead.std(axis=0, ddof=1) / np.sqrt(len(lead))
    difference = f"difference from {RAW}, 1-NN / SVM (standard error)"
    lines = [f"| features | 1-NN | linear SVM | {difference} |", "|---|---|---|---|"]
    for place, label in enumerate((RAW, *TOGETHER)):
        nearest, linear = found[:, place].mean(axis=0)
        leads = zip(lead[:, place].mean(axis=0), error[place], strict=True)
        gain = " / ".join(f"{mean:+.1f} ({one:.1f})" for mean, one in leads) if place else ""
        lines.append(f"| {label} | {nearest:.1f} | {linear:.1f} | {gain} |")
    show({"families": lines}, PAGE, options.write)


if __name__ == "__main__":
    main()
