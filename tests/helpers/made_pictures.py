"""Folders of pictures in three kinds: with a disc, with stripes, with neither."""

import numpy as np
from PIL import Image, ImageDraw

SIZE = 120, 90
ENDINGS = "png", "JPG", "webp", "tif"
KINDS = "disc", "stripes", "plain"


def made_picture(kind, rng):
    """Draw a picture: discs are in the upper left, stripes in the lower right."""
    spots = rng.normal(150, 12, size=(4, 5, 3)).clip(0, 255).astype(np.uint8)
    picture = Image.fromarray(spots).resize(SIZE, Image.Resampling.BICUBIC)
    draw = ImageDraw.Draw(picture)
    x, y = rng.integers(3, 12, 2).tolist()
    if kind == "disc":
        draw.ellipse([x, y, x + 22, y + 18], fill=(190, 50, 40))
    if kind == "stripes":
        for place in range(84 + x % 4, 116, 6):
            draw.line([place, 64, place, 86], fill=(40, 40, 40), width=2)
    x, y = rng.integers(45, 65, 2).tolist()  # what all have, anywhere in the middle
    draw.rectangle([x, y // 2 + 10, x + 8, y // 2 + 18], fill=tuple(rng.integers(90, 200, 3)))
    return picture


def make_pictures(folder, n_pictures, seed=0):
    """Write pictures of all common formats into a folder and a subfolder; return kinds by name."""
    rng = np.random.default_rng(seed)
    (folder / "more of them").mkdir(parents=True)
    kinds = {}
    for number in range(n_pictures):
        kind = KINDS[int(rng.integers(3))]
        place = "more of them/" if number % 5 == 4 else ""
        name = f"{place}photo {number:03}.{ENDINGS[number % 4]}"
        made_picture(kind, rng).save(folder / name)
        kinds[name] = kind
    return kinds
