"""Pictures fit what a provider takes, or leave a text in their place (replay.md §3.5.1, T58-T61)."""

from __future__ import annotations

import base64
import io
import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

from stenolith.model.message import Image, Message, Role, Text, ToolResult
from stenolith.replay.image_codec import NoCodec
from stenolith.replay.images import limit
from stenolith.replay.lint.pictures import inspect
from stenolith.replay.policy import ImageLimits

LIMITS = ImageLimits()


def encoded(picture, form="PNG", **options):
    target = io.BytesIO()
    picture.save(target, form, **options)
    return base64.b64encode(target.getvalue()).decode()


def plain(width, height, form="PNG", colour="red", mode="RGB", **options):
    return encoded(Pillow.new(mode, (width, height), colour), form, **options)


def noise(width, height, form="PNG", mode="RGB", **options):
    return encoded(Pillow.effect_noise((width, height), 100).convert(mode), form, **options)


def opened(image):
    return Pillow.open(io.BytesIO(base64.b64decode(image.data)))


def user(*parts):
    return Message(role=Role.USER, parts=parts)


def result(*content):
    return Message(role=Role.TOOL, parts=(ToolResult(id="c", content=content),))


def one(data, mime="image/png", limits=LIMITS, **options):
    (message,), changes = limit([user(Text(text="see"), Image(data=data, mime=mime))], limits, **options)
    assert message.parts[0] == Text(text="see")
    return message.parts[1], changes


# ---- T58: size ----
def test_t58_a_large_picture_is_resized_and_a_small_one_keeps_its_bytes():
    large, changes = one(plain(2000, 1000))
    assert (large.mime, opened(large).size, opened(large).format) == ("image/jpeg", (1200, 600), "JPEG")
    assert [(change.rule, change.index, change.action) for change in changes] == [("images", 0, "resized")]
    small = plain(800, 600)
    assert one(small) == (Image(data=small, mime="image/png"), ())


@pytest.mark.parametrize(
    ("size", "shown"), [((1200, 1), (1200, 1)), ((1201, 1), (1200, 1)), ((3000, 4000), (900, 1200))]
)
def test_the_longest_side_counts(size, shown):
    picture, _ = one(plain(*size))
    assert opened(picture).size == shown


def test_bytes_are_brought_under_the_limit_by_quality_and_then_by_side():
    data = encoded(Pillow.effect_noise((250, 250), 100).convert("RGB").resize((1000, 1000)))
    for size, side in ((200_000, 1000), (150_000, 800)):
        picture, _ = one(data, limits=replace(LIMITS, max_bytes=size))
        assert len(base64.b64decode(picture.data)) <= size
        assert max(opened(picture).size) == side
    assert "cannot be made smaller than 500 bytes" in one(data, limits=replace(LIMITS, max_bytes=500))[0].text


def test_a_limit_below_one_pixel_is_one_pixel():
    assert opened(one(plain(50, 20), limits=replace(LIMITS, max_side=0))[0]).size == (1, 1)


# ---- T59: placeholders ----
@pytest.mark.parametrize(
    ("data", "mime", "text"),
    [
        ("", "image/png", "[session:history] omitted empty image payload"),
        ("  \n", "image/png", "[session:history] omitted empty image payload"),
        ("@@@", "image/png", "[session:history] omitted image payload: invalid base64"),
        ("AAAAA", "image/png", "[session:history] omitted image payload: invalid base64"),
        ("图片", "image/png", "[session:history] omitted image payload: invalid base64"),
        (plain(1, 1), "", "[session:history] omitted image payload: missing data or mimeType"),
        ("AAAA", "image/png", "[session:history] omitted image payload: not a picture that can be read"),
        ("iVBORw0KGgo=", "image/png", "[session:history] omitted image payload: not a picture that can be read"),
    ],
)
def test_t59_what_is_no_picture_leaves_a_text(data, mime, text):
    part, changes = one(data, mime)
    assert part == Text(text=text)
    assert [(change.action, change.detail) for change in changes] == [("replaced", text)]


@pytest.mark.parametrize(
    "spelling",
    [
        lambda data: f"data:image/png;base64,{data}",
        lambda data: f"data:image/png;charset=utf-8;base64,{data}",
        lambda data: "\n".join(data[at : at + 76] for at in range(0, len(data), 76)),
        lambda data: data.replace("+", "-").replace("/", "_").rstrip("="),
    ],
    ids=["data URL", "data URL with a parameter", "wrapped lines", "base64url without padding"],
)
def test_every_spelling_of_base64_becomes_the_plain_one(spelling):
    data = noise(20, 20)
    part, changes = one(spelling(data))
    assert part == Image(data=data, mime="image/png")
    assert [change.action for change in changes] == ["rewritten"]


# ---- T60: bombs ----
def bomb(width, height):
    def chunk(kind, body):
        return len(body).to_bytes(4, "big") + kind + body + zlib.crc32(kind + body).to_bytes(4, "big")

    header = width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x02\x00\x00\x00"
    raw = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    return base64.b64encode(raw).decode()


class NeverDecodes:
    def measure(self, data):
        raise AssertionError("measured")

    def shrink(self, data, room):
        raise AssertionError("decoded")


@pytest.mark.parametrize(("width", "height", "shown"), [(8000, 5000, "8000x5000"), (60_000, 60_000, "60000x60000")])
def test_t60_a_bomb_is_known_by_its_header_and_never_decoded(width, height, shown):
    part, _ = one(bomb(width, height), codec=NeverDecodes())
    assert part.text == f"[session:history] omitted image payload: {shown} is more than 25 megapixels"


def test_t60_a_bomb_of_a_type_that_only_pillow_knows_is_not_decoded_either():
    part, _ = one(plain(6000, 5000, "TIFF", mode="1", colour=1, compression="group4"), "image/tiff")
    assert "6000x5000 is more than 25 megapixels" in part.text


def test_a_damaged_body_leaves_a_text():
    data = base64.b64encode(base64.b64decode(noise(2000, 1000))[:5000]).decode()
    assert one(data)[0].text == "[session:history] omitted image payload: the picture is damaged"


# ---- T61: types ----
@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
def test_t61_the_type_is_read_from_the_bytes(form):
    data = plain(20, 30, form)
    part, changes = one(data, "image/bmp")
    assert part == Image(data=data, mime=f"image/{form.lower()}")
    assert [change.action for change in changes] == ["retyped"]


@pytest.mark.parametrize("form", ["BMP", "TIFF", "PPM"])
def test_types_that_are_not_taken_are_converted(form):
    part, _ = one(plain(20, 30, form), f"image/{form.lower()}")
    assert (part.mime, opened(part).size) == ("image/jpeg", (20, 30))


def test_a_type_that_this_provider_does_not_take_is_converted():
    part, _ = one(plain(20, 30, "WEBP"), "image/webp", replace(LIMITS, formats=("image/png", "image/jpeg")))
    assert part.mime == "image/jpeg"


def test_drawings_are_not_pictures():
    svg = base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg'/>").decode()
    assert (
        one(svg, "image/svg+xml")[0].text == "[session:history] omitted image payload: not a picture that can be read"
    )


# ---- what resizing keeps ----
def test_a_picture_is_shown_upright():
    exif = Pillow.Exif()
    exif[0x0112] = 6  # rotated a quarter turn
    picture, _ = one(plain(2000, 1000, "JPEG", exif=exif), "image/jpeg")
    assert opened(picture).size == (600, 1200)


def test_see_through_pixels_become_white_or_stay_in_a_smaller_png():
    drawing = Pillow.new("RGBA", (2000, 1000), (0, 0, 0, 0))
    kept, _ = one(encoded(drawing))
    assert (kept.mime, opened(kept).mode, opened(kept).size) == ("image/png", "RGBA", (1200, 600))
    photo = Pillow.effect_noise((2000, 1000), 100).convert("RGBA")
    photo.putalpha(10)
    flat, _ = one(encoded(photo))
    assert flat.mime == "image/jpeg"
    assert min(opened(flat).convert("L").getextrema()) > 230


def test_only_the_first_frame_of_a_large_animation_is_shown():
    frames = [Pillow.new("RGB", (1500, 100), colour) for colour in ("red", "blue")]
    moving = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    picture, _ = one(moving, "image/gif")
    red, _, blue = opened(picture).convert("RGB").getpixel((5, 5))
    assert red > 200
    assert blue < 50
    small = [frame.resize((50, 50)) for frame in frames]
    data = encoded(small[0], "GIF", save_all=True, append_images=small[1:])
    assert one(data, "image/gif") == (Image(data=data, mime="image/gif"), ())


# ---- the request as a whole ----
def test_too_many_pictures_cost_the_oldest():
    data = plain(1, 1)
    image = Image(data=data, mime="image/png")
    messages = [user(image), result(image, image), user(image)]
    found, changes = limit(messages, replace(LIMITS, max_count=2))
    omitted = Text(text="[image omitted: too many images]")
    assert [part for m in found for p in m.parts for part in (p.content if isinstance(p, ToolResult) else (p,))] == [
        omitted,
        omitted,
        image,
        image,
    ]
    assert [(change.index, change.action) for change in changes] == [(0, "replaced"), (1, "replaced")]


def test_many_pictures_must_each_be_smaller():
    data = plain(2500, 10)
    limits = replace(LIMITS, max_side=8000)
    few, _ = limit([user(Image(data=data, mime="image/png"))] * 20, limits)
    many, _ = limit([user(Image(data=data, mime="image/png"))] * 21, limits)
    assert {opened(m.parts[0]).size for m in few} == {(2500, 10)}
    assert {opened(m.parts[0]).size for m in many} == {(2000, 8)}


def test_the_request_may_not_be_larger_than_its_budget():
    image = Image(data=noise(100, 100), mime="image/png")
    found, _ = limit([user(image), user(image), user(image)], replace(LIMITS, request_bytes=2 * len(image.data)))
    assert [m.parts[0] for m in found] == [Text(text="[image omitted: request too large]"), image, image]


def test_a_model_without_eyes_gets_words():
    image = Image(data=plain(1, 1), mime="image/png")
    messages = [user(image, image, Text(text="x"), image), result(image, image)]
    found, changes = limit(messages, replace(LIMITS, vision=False))
    seen, tool = (
        Text(text="(image omitted: model does not support images)"),
        Text(text="(tool image omitted: model does not support images)"),
    )
    assert found[0].parts == (seen, Text(text="x"), seen)
    assert found[1].parts[0].content == (tool,)
    assert len(changes) == 5


def test_without_pillow_small_pictures_stay_and_large_ones_say_what_to_install():
    small = plain(800, 600)
    assert one(small, codec=NoCodec()) == (Image(data=small, mime="image/png"), ())
    part, changes = one(plain(2000, 1000), codec=NoCodec())
    assert part.text.startswith("[session:history] omitted image payload: ")
    assert changes[0].detail.endswith("install stenolith[images] to have pictures resized")


def test_messages_without_pictures_are_the_same_objects():
    messages = [user(Text(text="a")), user(Text(text="b"), Image(data="", mime=""))]
    found, _ = limit(messages, LIMITS)
    assert found[0] is messages[0]


pictures = st.sampled_from([
    plain(1, 1), plain(1300, 4), plain(30, 30, "GIF"), plain(30, 30, "WEBP"), plain(30, 30, "BMP"), noise(60, 60), bomb(9000, 9000),
    "", "@@@", "AAAA", "iVBORw0KGgo=",
]).map(lambda data: Image(data=data, mime="image/png"))  # fmt: skip


@given(
    st.lists(st.lists(pictures | st.just(Text(text="t")), max_size=4), max_size=4),
    st.builds(replace, st.just(LIMITS), vision=st.booleans(), max_count=st.integers(0, 5), max_side=st.sampled_from([20, 1200]),
              max_bytes=st.sampled_from([700, 4000, 10**6]), request_bytes=st.sampled_from([1000, 10**6]), many_count=st.integers(0, 3), many_side=st.just(25)),
)  # fmt: skip
def test_what_is_within_the_limits_stays_and_limiting_again_changes_nothing(contents, limits):
    messages = [result(*content) if at % 2 else user(*content) for at, content in enumerate(contents)]
    found, changes = limit(messages, limits)
    assert limit(found, limits) == (found, ())
    assert limit(messages, limits) == (found, changes)
    images = [
        p
        for m in found
        for part in m.parts
        for p in (part.content if isinstance(part, ToolResult) else (part,))
        if isinstance(p, Image)
    ]
    assert len(images) <= limits.max_count
    assert sum(len(image.data) for image in images) <= limits.request_bytes
    for image in images:
        real = inspect(image.data)
        assert real.mime == image.mime
        assert opened(image).size == (real.width, real.height)
        assert max(opened(image).size) <= limits.max_side
        assert len(base64.b64decode(image.data)) <= limits.max_bytes
