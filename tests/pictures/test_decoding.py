import io
import os
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from linkselect._pictures.decoding import LARGE, MOST_BYTES, NoPictureError, opened, shown

rng = np.random.default_rng(0)
COLOURS = Image.fromarray(rng.integers(0, 255, (60, 40, 3), dtype=np.uint8))
# White on the left. With this orientation it is displayed rotated clockwise: white at the top.
WHITE_LEFT = Image.fromarray(np.repeat([[255] * 40 + [0] * 40], 60, axis=0).astype(np.uint8))
TURNED = Image.Exif()
TURNED[0x0112] = 6


def png_of(width, height):
    """Return a black PNG of this size in few bytes."""
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(bytes((width // 8 + 1) * height), 9)),
        (b"IEND", b""),
    )
    checked = (
        struct.pack(">I", len(content))
        + name
        + content
        + struct.pack(">I", zlib.crc32(name + content))
        for name, content in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(checked)


@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a.tif", "a.webp"])
def test_pictures_are_rotated_upright(tmp_path, name):
    WHITE_LEFT.convert("RGB").save(tmp_path / name, exif=TURNED)
    found = np.asarray(opened(tmp_path / name, 400))
    assert found.shape == (80, 60, 3)
    assert found[:35].min() > 200 > 50 > found[45:].max()


@pytest.mark.parametrize(
    ("mode", "ending"),
    [
        ("1", "png"),
        ("L", "tif"),
        ("LA", "png"),
        ("P", "gif"),
        ("RGBA", "webp"),
        ("CMYK", "jpg"),
        ("CMYK", "tif"),
        ("YCbCr", "jpg"),
        ("LAB", "tif"),
    ],
)
def test_every_mode_is_converted_to_colours(tmp_path, mode, ending):
    file = tmp_path / f"a.{ending}"
    picture = Image.new("LAB", (40, 60)) if mode == "LAB" else COLOURS.convert(mode)
    picture.save(file)
    found = opened(file, 400)
    assert found.mode == "RGB"
    assert found.size == (40, 60)


def test_transparent_parts_are_white(tmp_path):
    clear = COLOURS.convert("RGBA")
    clear.putalpha(0)
    clear.save(tmp_path / "clear.png")
    assert np.asarray(opened(tmp_path / "clear.png", 400)).min() == 255


@pytest.mark.parametrize("ending", ["png", "tif"])
def test_sixteen_bit_pictures_keep_their_range(tmp_path, ending):
    values = np.linspace(0, 65535, 2500).reshape(50, 50).astype(np.uint16)
    Image.fromarray(values).save(tmp_path / f"a.{ending}")
    Image.fromarray(values // 4).save(tmp_path / f"dark.{ending}")
    bright, dark = (np.asarray(opened(tmp_path / f"{name}.{ending}", 50)) for name in ("a", "dark"))
    np.testing.assert_allclose(bright[..., 0], values // 257, atol=1)
    np.testing.assert_allclose(dark[..., 0], values // 4 // 257, atol=1)


def test_floats_are_scaled_to_their_range(tmp_path):
    values = np.linspace(-3, 5, 2500).reshape(50, 50).astype(np.float32)
    Image.fromarray(values).save(tmp_path / "a.tif")
    found = np.asarray(opened(tmp_path / "a.tif", 50))[..., 0]
    assert found[0, 0] == 0
    assert found[-1, -1] == 255
    values[3, 3] = np.nan
    Image.fromarray(values).save(tmp_path / "b.tif")
    assert np.asarray(opened(tmp_path / "b.tif", 50)).shape == (50, 50, 3)


def test_large_pictures_are_reduced(tmp_path):
    Image.new("RGB", (3000, 2000), "red").save(tmp_path / "a.jpg")
    assert opened(tmp_path / "a.jpg", 300).size == (300, 200)


def broken_files(folder):
    whole, jpeg = io.BytesIO(), io.BytesIO()
    COLOURS.save(whole, "PNG")
    COLOURS.save(jpeg, "JPEG")
    contents = {
        "cut.png": whole.getvalue()[: len(whole.getvalue()) // 2],
        "cut.jpg": jpeg.getvalue()[: len(jpeg.getvalue()) // 2],
        "empty.png": b"",
        "text.jpg": b"<html>",
        "wide.png": png_of(40_000, 40_000),
        "large.png": png_of(12_000, 12_000),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    os.mkfifo(folder / "pipe.png")
    (folder / "zero.jpg").symlink_to("/dev/zero")
    (folder / "loop.png").symlink_to("loop.png")
    return [*contents, "pipe.png", "zero.jpg", "loop.png"]


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_files_that_are_not_pictures_are_refused_with_a_reason(tmp_path):
    for name in broken_files(tmp_path):
        with pytest.raises(NoPictureError, match=r"^(is|has|does|cannot)\b"):
            opened(tmp_path / name, 100)


def test_no_other_program_is_started(tmp_path, monkeypatch):
    """By default, Pillow opens PostScript with Ghostscript, whatever the file is called."""
    (tmp_path / "gs").write_text(f"#!/bin/sh\ntouch '{tmp_path}/started'\nexit 1\n")
    (tmp_path / "gs").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "a.png").write_bytes(
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n"
    )
    with pytest.raises(NoPictureError, match="is not a readable picture"):
        opened(tmp_path / "a.png", 100)
    assert not (tmp_path / "started").exists()


def test_rotated_webp_is_sent_upright(tmp_path):
    WHITE_LEFT.convert("RGB").save(tmp_path / "a.webp", exif=TURNED)
    content, kind = shown(tmp_path / "a.webp")
    assert kind == "image/jpeg"
    assert Image.open(io.BytesIO(content)).size == (60, 80)


def test_browsers_get_the_file_itself_or_a_smaller_one(tmp_path):
    COLOURS.save(tmp_path / "a.PNG")
    assert shown(tmp_path / "a.PNG") == ((tmp_path / "a.PNG").read_bytes(), "image/png")
    COLOURS.save(tmp_path / "a.tif")
    content, kind = shown(tmp_path / "a.tif")
    assert kind == "image/jpeg"
    assert Image.open(io.BytesIO(content)).size == (40, 60)
    noise = rng.integers(0, 255, (1000, 1500, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "b.png")
    assert (tmp_path / "b.png").stat().st_size > MOST_BYTES
    content, kind = shown(tmp_path / "b.png")
    assert kind == "image/jpeg"
    assert max(Image.open(io.BytesIO(content)).size) == LARGE
