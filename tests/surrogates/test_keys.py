"""Keys of surrogates: derivation as in RFC 5869, reproducible draws, secrets that are not shown or saved."""

import base64
import copy
import multiprocessing
import os
import pickle
from collections import Counter
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.errors import ConfigError, InputError
from spacy_deid.surrogates.keys import Draw, IdentityKey, ProjectKey, hkdf

SECRET = bytes(range(32))
TEXT = st.text(max_size=20)


def patient(id="4711", salt=b"", secret=SECRET):
    return ProjectKey(secret).patient(id, salt)


def numbers(key, *context):
    return [key.draw(*context).below(10**9), *(key.draw(*context, str(i)).below(10**9) for i in range(3))]


@pytest.mark.parametrize(
    ("secret", "salt", "info", "length", "expected"),
    [
        (
            "0b" * 22,
            bytes(range(13)).hex(),
            bytes(range(0xF0, 0xFA)).hex(),
            42,
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
        ),
        (
            bytes(range(0x50)).hex(),
            bytes(range(0x60, 0xB0)).hex(),
            bytes(range(0xB0, 0x100)).hex(),
            82,
            "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09"
            "da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87",
        ),
        (
            "0b" * 22,
            "",
            "",
            42,
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8",
        ),
    ],
)
def test_keys_are_derived_as_in_rfc_5869(secret, salt, info, length, expected):
    derived = hkdf(bytes.fromhex(secret), bytes.fromhex(salt), bytes.fromhex(info), length)
    assert derived.hex() == expected


def test_draws_are_the_same_on_every_machine_and_in_every_version():
    draw = patient().draw("name", "Virtanen", "0")
    assert [draw.below(n) for n in (10, 1000, 10**6, 10**12)] == [3, 538, 950987, 564717978408]
    assert "".join(draw.shuffled("abcdef")) == "ecdbaf"
    assert "".join(draw.weighted("abc", (0.2, 0.5, 0.3)) for _ in range(6)) == "bbccaa"
    assert [draw.chance(0.3) for _ in range(6)] == [False, True, False, False, False, False]


@given(st.lists(TEXT, max_size=4))
def test_the_same_key_and_context_give_the_same_draw(context):
    assert patient().draw(*context).below(2**64) == patient().draw(*context).below(2**64)


@given(st.lists(TEXT, max_size=3), st.lists(TEXT, max_size=3))
def test_another_context_gives_another_draw(one, other):
    same = patient().draw(*one).below(2**128) == patient().draw(*other).below(2**128)
    assert same == (one == other)


def test_another_project_patient_or_salt_gives_other_draws():
    keys = [patient(), patient("4712"), patient(salt=b"salt"), patient(secret=SECRET[::-1])]
    assert len({tuple(numbers(key, "name")) for key in keys}) == 4


def test_a_derived_key_differs_from_the_seeds_of_draws():
    assert len({patient().derive("a"), patient().derive("b"), patient().derive()}) == 3
    assert patient().derive("a")[:4] != patient().draw("a").below(2**32).to_bytes(4, "big")


@given(st.integers(1, 2**70), st.binary(min_size=32, max_size=32))
def test_a_number_is_below_its_bound(n, seed):
    assert 0 <= Draw(seed).below(n) < n


@pytest.mark.parametrize("n", [3, 10, 257])
def test_all_numbers_are_equally_likely(n):
    draw, times = Draw(SECRET), 300
    counts = Counter(draw.below(n) for _ in range(times * n))
    squares = sum((counts[i] - times) ** 2 / times for i in range(n))
    assert squares < n - 1 + 5 * (2 * (n - 1)) ** 0.5  # chi square, five standard deviations above its mean


def test_options_are_drawn_by_weight_and_never_with_weight_zero():
    draw = Draw(SECRET)
    counts = Counter(draw.weighted("abcd", (0, 1, 0.0, 2.5)) for _ in range(7000))
    assert set(counts) == {"b", "d"}
    assert counts["b"] == pytest.approx(2000, rel=0.1)


@given(st.lists(st.integers(0, 9), min_size=1).filter(any), st.binary(min_size=32, max_size=32))
def test_running_sums_draw_as_weights_do(weights, seed):
    position = Draw(seed).position(list(accumulate(weights)))
    assert Draw(seed).weighted(range(len(weights)), weights) == position
    assert weights[position] > 0


@given(st.lists(st.integers()), st.binary(min_size=32, max_size=32))
def test_a_shuffled_list_has_the_same_items(items, seed):
    assert sorted(Draw(seed).shuffled(items)) == sorted(items)


def test_every_order_is_equally_likely():
    draw = Draw(SECRET)
    counts = Counter("".join(draw.shuffled("abc")) for _ in range(6000))
    assert len(counts) == 6
    assert all(850 < count < 1150 for count in counts.values())


def test_chance_has_the_given_probability():
    draw = Draw(SECRET)
    assert sum(draw.chance(0.3) for _ in range(10_000)) == pytest.approx(3000, rel=0.06)
    assert not any(draw.chance(0.0) for _ in range(100))
    assert all(draw.chance(1.0) for _ in range(100))


@pytest.mark.parametrize(
    "ask",
    [
        lambda draw: draw.below(0),
        lambda draw: draw.choice([]),
        lambda draw: draw.weighted([], []),
        lambda draw: draw.weighted("ab", [1]),
        lambda draw: draw.weighted("ab", [0, 0]),
        lambda draw: draw.weighted("ab", [2, -1]),
        lambda draw: draw.weighted("ab", [1, float("inf")]),
        lambda draw: draw.weighted("ab", [1, float("nan")]),
        lambda draw: draw.position([]),
        lambda draw: draw.chance(1.5),
        lambda draw: draw.chance(float("nan")),
    ],
)
def test_nothing_to_draw_from_is_refused(ask):
    with pytest.raises(ValueError, match="cannot draw a value"):
        ask(Draw(SECRET))


def test_a_short_key_is_refused_with_the_command_that_makes_one():
    with pytest.raises(ConfigError, match=r"31 byte.*spacy-deid key new"):
        ProjectKey(SECRET[:31])


def test_a_note_without_a_patient_is_refused():
    with pytest.raises(InputError, match="no patient id"):
        patient("")


def test_a_lone_surrogate_code_point_is_a_valid_context():
    assert patient("\ud83d").draw("\udc00").below(10) in range(10)


@pytest.mark.parametrize(
    "secret", [patient(), ProjectKey(SECRET), patient().draw("a")], ids=["patient", "key", "draw"]
)
def test_no_secret_is_shown(secret):
    assert repr(secret) == str(secret) == f"{type(secret).__name__}(…)"
    assert not hasattr(secret, "__dict__")


@pytest.mark.parametrize("secret", [patient(), ProjectKey(SECRET)], ids=["patient", "key"])
def test_a_secret_is_neither_saved_nor_copied(secret):
    with pytest.raises(ConfigError, match="cannot be saved"):
        pickle.dumps(secret)
    assert copy.deepcopy({"key": secret})["key"] is secret
    assert copy.copy(secret) is secret


def test_a_secret_is_passed_to_a_spawned_worker(tmp_path):
    key = ProjectKey(SECRET)
    worker = multiprocessing.get_context("spawn").Process(target=key.to_file, args=(tmp_path / "key",))
    worker.start()
    worker.join()
    assert ProjectKey.from_file(tmp_path / "key").fingerprint == key.fingerprint


def write(path, text, mode=0o600):
    path.write_text(text, encoding="utf8")
    path.chmod(mode)
    return path


@pytest.mark.parametrize(
    "text",
    [
        SECRET.hex(),
        SECRET.hex().upper() + "\n",
        SECRET.hex()[:32] + "\n" + SECRET.hex()[32:],
        base64.b64encode(SECRET).decode(),
        base64.urlsafe_b64encode(SECRET).decode().rstrip("=") + "\r\n",
    ],
    ids=["hexadecimal", "capitals", "two lines", "base64", "base64 of addresses"],
)
def test_a_key_file_is_hexadecimal_or_base64(tmp_path, text):
    key = ProjectKey.from_file(write(tmp_path / "key", text))
    assert key.fingerprint == ProjectKey(SECRET).fingerprint


@pytest.mark.parametrize("text", ["my secret pass phrase!", "é" * 40, "a" * 65 + "!"])
def test_an_invalid_key_is_refused_without_quoting_it(tmp_path, text):
    with pytest.raises(ConfigError, match="neither hexadecimal nor base64") as raised:
        ProjectKey.from_file(write(tmp_path / "key", text))
    assert text not in str(raised.value)


@pytest.mark.parametrize(("text", "message"), [("", "0 byte"), ("00" * 16, "16 byte")])
def test_a_key_file_that_is_too_short_is_refused(tmp_path, text, message):
    with pytest.raises(ConfigError, match=message):
        ProjectKey.from_file(write(tmp_path / "key", text))


@pytest.mark.skipif(os.name != "posix", reason="no such permissions")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_key_file_that_others_may_use_is_refused(tmp_path, mode):
    with pytest.raises(ConfigError, match=f"mode {mode:04o}.*chmod 600"):
        ProjectKey.from_file(write(tmp_path / "key", SECRET.hex(), mode))


def test_a_missing_key_file_is_refused_with_the_command_that_makes_one(tmp_path):
    with pytest.raises(ConfigError, match=r"No such file.*spacy-deid key new"):
        ProjectKey.from_file(tmp_path / "key")


def test_a_written_key_is_readable_by_its_owner_only(tmp_path):
    key = ProjectKey.make()
    key.to_file(tmp_path / "key")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert ProjectKey.from_file(tmp_path / "key").fingerprint == key.fingerprint
    assert key.fingerprint != ProjectKey.make().fingerprint


def test_an_existing_key_is_never_replaced(tmp_path):
    path = write(tmp_path / "key", SECRET.hex())
    with pytest.raises(ConfigError, match="never replaced"):
        ProjectKey.make().to_file(path)
    assert path.read_text() == SECRET.hex()


def test_a_patient_has_one_key():
    assert isinstance(patient(), IdentityKey)
