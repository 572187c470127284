import numpy as np
import pytest
from skimage.color import rgb2lab

from linkselect._pictures.picture_features import (
    DEFAULT_FAMILIES,
    FAMILIES,
    SIDE,
    check_families,
    measure,
    named_features,
)

rows, columns = np.mgrid[:SIDE, :SIDE]
FIELD = slice(SIDE // 3, 2 * SIDE // 3)


def by_name(pixels):
    pixels = np.repeat(pixels[..., None], 3, axis=2) if pixels.ndim == 2 else pixels
    names = [one.name for one in named_features()]
    return dict(zip(names, measure(pixels).tolist(), strict=True))


def painted(color, place=(FIELD, FIELD)):
    """Return a grey picture with one region in another colour."""
    pixels = np.full((SIDE, SIDE, 3), 0.5)
    pixels[place] = color
    return pixels


def test_names_are_unique_and_contain_the_region():
    names = [one.name for one in named_features()]
    assert len(names) == len(set(names)) == len(measure(painted(0.5)))
    assert "brightness, upper left" in names
    assert "rising lines, centre" in names
    assert "brightness, row 16, column 1" in names
    for one in named_features():
        assert 0 <= one.region.top <= 1 - one.region.height + 1e-12


def test_each_feature_depends_on_its_region_only():
    rng = np.random.default_rng(0)
    before = rng.random((SIDE, SIDE, 3))
    after = before.copy()
    # This includes the upper left cell of each grid, with its edges.
    after[:40, :40] = rng.random((40, 40, 3))
    changed = measure(before) != measure(after)
    for one, is_changed in zip(named_features(), changed, strict=True):
        overlaps = one.region.top * SIDE < 40 and one.region.left * SIDE < 40
        assert overlaps or not is_changed, one


@pytest.mark.parametrize("color", [(0.9, 0.2, 0.1), (0.1, 0.3, 0.8), (1.0, 1.0, 0.0)])
def test_colours_are_means_of_lab(color):
    found = by_name(painted(color))
    brightness, red, yellow = rgb2lab(np.array(color)[None, None])[0, 0]
    assert found["brightness, centre"] == pytest.approx(brightness, abs=0.06)
    assert found["redness, centre"] == pytest.approx(red, abs=0.06)
    assert found["yellowness, centre"] == pytest.approx(yellow, abs=0.06)
    assert found["colour strength, centre"] == pytest.approx(np.hypot(red, yellow), abs=0.06)
    assert found["colour strength, upper left"] == 0


def test_grey_pictures_have_no_colours():
    """Otherwise, scaling would turn rounding errors in Lab into colour features."""
    pixels = np.random.default_rng(1).random((SIDE, SIDE))
    found = by_name(pixels)
    colours = [name for name in found if name.startswith(("red", "yellow", "colour"))]
    assert len(colours) == 27
    assert {found[name] for name in colours} == {0.0}


@pytest.mark.parametrize(
    ("direction", "angle"),
    [
        ("vertical", columns),
        ("horizontal", rows),
        ("rising", rows + columns),
        ("falling", rows - columns),
    ],
)
def test_lines_are_distinguished_by_their_direction(direction, angle):
    found = by_name(0.5 + 0.5 * np.sin(angle / 3))
    lines = {name: found[f"{name} lines, centre"] for name in FAMILIES_OF_LINES}
    assert max(lines, key=lines.get) == direction
    assert lines[direction] > 0.95
    assert sum(lines.values()) - lines[direction] < 0.2


FAMILIES_OF_LINES = "vertical", "rising", "horizontal", "falling"


def test_texture_distinguishes_noise_from_a_plain_field():
    pixels = painted(0.5)
    pixels[FIELD, FIELD] = np.random.default_rng(2).random((SIDE // 3, SIDE // 3, 1))
    found = by_name(pixels)
    assert found["contrast, centre"] > 10 > found["contrast, upper left"] == 0
    assert found["edges, centre"] > 1
    assert found["smoothness, centre"] < 0.6 < found["smoothness, upper left"] == 1


def test_pixels_are_means_of_brightness():
    pixels = np.random.default_rng(3).random((SIDE, SIDE))
    found = by_name(pixels)
    lab = rgb2lab(np.repeat(pixels[..., None], 3, axis=2))[..., 0]
    assert found["brightness, row 3, column 2"] == pytest.approx(lab[18:27, 9:18].mean(), abs=0.06)


def test_families_by_name():
    assert check_families(["hog", "color", "hog"]) == ("color", "hog")
    assert [len(named_features((name,))) for name in FAMILIES] == [36, 27, 36, 256]
    assert len(named_features(DEFAULT_FAMILIES)) == 99
    for wrong in (["sift"], []):
        with pytest.raises(ValueError, match="color, texture, hog, pixels"):
            check_families(wrong)
