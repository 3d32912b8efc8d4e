"""Pictures within other files."""

import io

import pytest
from PIL import Image, ImageChops, ImageStat

from spacy_deid.documents import ReadSettings, WriteSettings
from spacy_deid.documents.office import write_picture

KEEP = ReadSettings(pictures="keep")


def picture(kind, **more):
    """A picture with a name in its metadata."""
    exif = Image.Exif()
    exif[0x010E] = "Quintana"
    image = Image.linear_gradient("L").resize((200, 100))
    out = io.BytesIO()
    image.save(out, kind, exif=exif, **more)
    return out.getvalue()


@pytest.mark.parametrize(
    ("kind", "more"), [("JPEG", {"comment": b"Quintana"}), ("PNG", {}), ("TIFF", {})], ids=["JPEG", "PNG", "TIFF"]
)
def test_a_kept_picture_loses_what_is_written_beside_its_pixels(kind, more):
    data = picture(kind, **more)
    assert b"Quintana" in data
    copy = write_picture(data, None, [], KEEP, WriteSettings(read=KEEP))
    assert b"Quintana" not in copy
    with Image.open(io.BytesIO(data)) as before, Image.open(io.BytesIO(copy)) as after:
        assert after.format == kind
        assert ImageStat.Stat(ImageChops.difference(before, after)).mean[0] < 1


def test_a_kept_picture_that_is_damaged_becomes_a_blank_one():
    copy = write_picture(picture("PNG")[:120], None, [], KEEP, WriteSettings(read=KEEP))
    with Image.open(io.BytesIO(copy)) as after:
        assert after.getextrema() == (255, 255)
