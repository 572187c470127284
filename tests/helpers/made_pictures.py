"""Folders of small landscapes of three kinds: with a sun, with a fence, and with neither."""

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

WIDTH, HEIGHT = 120, 90
ENDINGS = "png", "JPG", "webp", "tif"
KINDS = "sun", "fence", "plain"


def shade(color, rng, spread=12):
    return tuple(int(one) for one in np.clip(rng.normal(color, spread), 0, 255))


def made_picture(kind, rng):
    """Draw a landscape: suns are in the upper left, fences in the lower right, clouds anywhere."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), shade((150, 190, 220), rng))
    draw = ImageDraw.Draw(picture)
    horizon = int(rng.integers(48, 58))
    hill = int(rng.integers(-30, 90))
    draw.ellipse([hill, horizon - 12, hill + 80, horizon + 40], fill=shade((90, 130, 100), rng))
    draw.rectangle([0, horizon, WIDTH, HEIGHT], fill=shade((120, 160, 80), rng))
    for _ in range(3):
        x, y = int(rng.integers(35, 100)), int(rng.integers(4, 24))
        draw.ellipse([x, y, x + 26, y + 9], fill=shade((235, 235, 240), rng, 6))
    x, y = rng.integers(4, 12, 2).tolist()
    if kind == "sun":
        draw.ellipse([x, y, x + 20, y + 20], fill=shade((250, 205, 70), rng, 6))
    if kind == "fence":
        wood = shade((90, 60, 40), rng, 6)
        for rail in (68, 78):
            draw.line([84, rail, WIDTH, rail], fill=wood, width=2)
        for post in range(85 + x % 4, WIDTH, 6):
            draw.line([post, 63, post, 84], fill=wood, width=2)
    # Like the grain of a photo, which differs between any two pictures.
    grain = rng.normal(0, 5, size=(HEIGHT, WIDTH, 3))
    soft = np.asarray(picture.filter(ImageFilter.GaussianBlur(0.6)), dtype=float)
    return Image.fromarray(np.clip(soft + grain, 0, 255).astype(np.uint8))


def make_pictures(folder, n_pictures, seed=0):
    """Write pictures in all common formats into a folder and a subfolder; return kinds by name."""
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
