"""Entries as bytes: what is whole is found, in order, whatever happened to the rest; nothing else is."""

from __future__ import annotations

import struct
from zlib import crc32

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from otel_gate.store.frames import MAGIC, SIZE, entry, framed, is_torn, parse

SECRET, OTHER = 0x5EC4E7, 0x07E4
payloads = st.lists(st.binary(max_size=40) | st.builds(framed, st.binary(max_size=9), st.just(OTHER)), max_size=8)


def joined(given: list[bytes]) -> tuple[bytes, list[tuple[int, bytes]]]:
    """Return entries as bytes, and where each is."""
    content, places = b"", []
    for payload in given:
        places.append((len(content), payload))
        content += framed(payload, SECRET)
    return content, places


def test_the_format_is_as_documented() -> None:
    """An entry is FF FE, length and checksum in 32 bits each, little endian, and the payload."""
    payload = b"what was said"
    checksum = crc32(payload, SECRET)
    assert framed(payload, SECRET) == struct.pack("<2sII", b"\xff\xfe", len(payload), checksum) + payload
    assert entry(framed(payload, SECRET), 0, SECRET) == payload


@given(payloads, st.data())
def test_a_prefix_of_the_bytes_has_a_prefix_of_the_entries(given: list[bytes], data: st.DataObject) -> None:
    """However a file is cut, the entries before the cut are there, and reading goes on where the next one begins."""
    content, places = joined(given)
    cut = data.draw(st.integers(0, len(content)))
    found = parse(content[:cut], SECRET)
    whole = [(at, payload) for at, payload in places if at + SIZE + len(payload) <= cut]
    assert found.entries == whole
    assert found.damaged == []
    assert found.end == (whole[-1][0] + SIZE + len(whole[-1][1]) if whole else 0)
    assert is_torn(content[found.end : cut], cut - found.end)


@given(payloads.filter(bool), st.data())
def test_damage_loses_only_the_entries_that_it_touches(given: list[bytes], data: st.DataObject) -> None:
    """Overwritten bytes cost the entries they are in; the gap that is reported is where these were."""
    content, places = joined(given)
    start = data.draw(st.integers(0, len(content) - 1))
    noise = data.draw(st.binary(min_size=1, max_size=30))[: len(content) - start]
    broken = content[:start] + noise + content[start + len(noise) :]
    found = parse(broken, SECRET)
    untouched = [
        (at, payload) for at, payload in places
        if broken[at : at + SIZE + len(payload)] == content[at : at + SIZE + len(payload)]
    ]  # fmt: skip
    assert found.entries == untouched
    told = sum(end - begin for begin, end in found.damaged) + len(broken) - found.end
    assert told == len(content) - sum(SIZE + len(payload) for _, payload in untouched)


@given(payloads, st.binary(min_size=1, max_size=40), payloads.filter(bool))
def test_what_is_put_between_entries_is_a_gap(before: list[bytes], noise: bytes, after: list[bytes]) -> None:
    """Garbage between entries, or a torn entry that others follow, is passed over and reported with its place."""
    first, there = joined(before)
    second, _ = joined(after)
    found = parse(first + noise + second, SECRET)
    assert found.entries == there + [(at + len(first) + len(noise), payload) for at, payload in joined(after)[1]]
    assert found.damaged == [(len(first), len(first) + len(noise))]


@given(payloads, st.integers(0, 200), st.integers(1, 200))
@example([bytes(10), b""], 1, 20)
def test_cut_out_bytes_cost_what_they_are_of(given: list[bytes], start: int, size: int) -> None:
    """Bytes that are missing in the middle cost the entries they belong to, and no more."""
    content, places = joined(given)
    left = content[:start] + content[start + size :]
    alike = [one for one in range(len(content) + 1) if content[:one] + content[one + size :] == left]
    untouched = [
        [payload for at, payload in places if at + SIZE + len(payload) <= one or at >= min(one + size, len(content))]
        for one in alike  # the same bytes are left when those are missing
    ]
    assert [payload for _, payload in parse(left, SECRET).entries] == max(untouched or [given], key=len)


@pytest.mark.parametrize("cut", [0, 1, 12])
def test_a_payload_that_looks_like_an_entry_is_none(cut: int) -> None:
    """What a model wrote can't be read as an entry, even when the head of the entry around it is destroyed."""
    hostile = framed(b"['f', 'trace', 9999]", OTHER) * 3
    content = framed(hostile, SECRET)
    damaged = b"\x00" * cut + content[cut:]
    found = parse(damaged + framed(b"next", SECRET), SECRET)
    assert [payload for _, payload in found.entries] == ([hostile, b"next"] if cut == 0 else [b"next"])


def test_what_can_be_torn() -> None:
    """The beginning of an entry is torn when its end is not there; other bytes are none."""
    content = framed(b"payload", SECRET)
    assert all(is_torn(content[:cut], cut) for cut in range(len(content)))
    assert not is_torn(content, len(content))
    assert not is_torn(b"x" + content[1:SIZE], 100)
    assert not is_torn(b"garbage", 7)
    assert is_torn(MAGIC[:1], 1)
