"""``input.sha256``: the published vectors, the RFC's own numbers, and agreement with another implementation."""

from __future__ import annotations

import hashlib
import json
import math
import struct

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from otel_gate.core.canonical import Unhashable, argument_hash, canonical, canonical_bytes, decode
from tests.core.vectors import VECTORS, Vector, received

# RFC 8785, appendix B: the bits of a double and its text
DOUBLES = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}
SAFE = 2**53 - 1
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SAFE_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-SAFE, SAFE) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def test_there_are_enough_vectors() -> None:
    """More than a hundred vectors are published, each under its own name."""
    assert len({vector["name"] for vector in VECTORS}) == len(VECTORS) > 100


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_vector(vector: Vector) -> None:
    """Arguments have the canonical form and the hash that are published for them."""
    given = received(vector)
    as_received = given if isinstance(given, bytes) else given.encode("utf-8", "surrogatepass")
    expected = as_received if vector["canonical"] is None else vector["canonical"].encode()
    assert canonical_bytes(given) == expected
    assert argument_hash(given) == vector["sha256"] == hashlib.sha256(expected).hexdigest()


@pytest.mark.parametrize(("bits", "text"), DOUBLES.items())
def test_double_of_the_rfc(bits: str, text: str) -> None:
    """A double is printed as appendix B of the RFC prints it."""
    assert canonical(struct.unpack(">d", bytes.fromhex(bits))[0]) == text.encode()


@given(SAFE_JSON)
def test_agrees_with_another_implementation(value: object) -> None:
    """On the RFC's domain the bytes are those of the rfc8785 package."""
    assert canonical(value) == rfc8785.dumps(value)  # type: ignore[arg-type]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_agrees_and_comes_back(value: float) -> None:
    """Any double is printed as the rfc8785 package does, and parses to itself."""
    assert canonical(value) == rfc8785.dumps(value)
    assert float(canonical(value)) == value


@given(st.dictionaries(TEXTS, st.integers()))
def test_order_of_keys_is_that_of_utf_16(value: dict[str, int]) -> None:
    """Keys come in the order of their UTF-16 code units, however they were given."""
    keys = list(json.loads(canonical(value)))
    assert keys == sorted(value, key=lambda key: key.encode("utf-16-be"))
    assert canonical(dict(reversed(value.items()))) == canonical(value)


@given(st.integers())
def test_integers_keep_all_their_digits(value: int) -> None:
    """An integer of any size is printed with all its digits."""
    assert canonical(value) == str(value).encode()


def test_every_character_is_escaped_as_the_rfc_says() -> None:
    """Only control characters, quote and backslash are escaped, the former in short form where there is one."""
    short = {"\b": r"\b", "\t": r"\t", "\n": r"\n", "\f": r"\f", "\r": r"\r", '"': r"\"", "\\": r"\\"}
    for number in [*range(0xD800), *range(0xE000, 0x10000), 0x10000, 0x10FFFF]:
        char = chr(number)
        expected = short.get(char, f"\\u{number:04x}" if number < 0x20 else char)
        assert canonical(char) == f'"{expected}"'.encode()


@given(SAFE_JSON)
def test_a_value_and_its_json_text_have_one_hash(value: object) -> None:
    """Arguments hash alike as a Python value, as its JSON text in any layout, and as their own canonical bytes."""
    if isinstance(value, str):
        value = [value]
    expected = argument_hash(value)
    assert argument_hash(json.dumps(value)) == expected
    assert argument_hash(json.dumps(value, indent=3, ensure_ascii=False)) == expected
    assert argument_hash(canonical_bytes(value)) == expected


@given(st.text(st.characters()) | st.binary() | SAFE_JSON)
def test_the_hash_is_of_the_canonical_bytes(value: object) -> None:
    """``argument_hash`` is the SHA-256 of ``canonical_bytes``."""
    assert argument_hash(value) == hashlib.sha256(canonical_bytes(value)).hexdigest()


@pytest.mark.parametrize(
    "value",
    [
        "\ud800",
        {"\udc00": 1},
        {"é\ud800": 1},
        math.nan,
        [-math.inf],
        {1: "a"},
        {"a": {None: 1}},
        object(),
        {1, 2},
        b"{}",
    ],
)
def test_unhashable_values_are_refused(value: object) -> None:
    """Lone surrogates, non-finite numbers, keys that are no text and values that are no JSON have no canonical form."""
    with pytest.raises(Unhashable, match=r"expected .+, got .+"):
        canonical(value)


@pytest.mark.parametrize("size", [10, 70_000])
def test_a_text_of_any_length_is_decoded_alike(size: int) -> None:
    """A short text is decoded once for whoever asks next, a long one each time: to the same value."""
    text = json.dumps({"q": "x" * size})
    assert decode(text) == decode(text) == {"q": "x" * size}
    assert (decode(text) is decode(text)) == (size == 10)
