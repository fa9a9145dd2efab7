"""What a trace or span id must look like, and the usual ways to get it wrong."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

TRACE_DIGITS = 32
SPAN_DIGITS = 16
_HEX = frozenset("0123456789abcdefABCDEF")
_HEX_TEXT = "".join(_HEX)  # what is left of a text without these at both ends is not hex; faster than a set of it
_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=")
_BASE64_CHARS = {TRACE_DIGITS: (22, 24, 44), SPAN_DIGITS: (11, 12, 24)}


def is_id(text: str, digits: int) -> bool:
    """Tell whether a text is an id: exactly so many hex digits, not all of them zero."""
    return len(text) == digits and _HEX.issuperset(text) and text.strip("0") != ""


def are_ids(texts: Collection[str], digits: int) -> bool:
    """Tell whether all texts are ids, in one look over all of them."""
    joined = "".join(texts)
    same_length = len(joined) == digits * len(texts) and set(map(len, texts)) <= {digits}
    return same_length and not joined.strip(_HEX_TEXT) and "0" * digits not in texts


def hint(text: str, digits: int) -> str:
    """Say what to try first about a text that is not an id."""
    return next((advice for looks, advice in _HINTS if looks(text, digits)), f"write it as {digits} hex digits")


def _is_dashed(text: str, digits: int) -> bool:
    return "-" in text and len(text.replace("-", "")) == digits and _HEX.issuperset(text.replace("-", ""))


def _is_base64(text: str, digits: int) -> bool:
    return len(text) in _BASE64_CHARS[digits] and _BASE64.issuperset(text)


def _is_half(text: str, digits: int) -> bool:
    return digits == TRACE_DIGITS and len(text) == SPAN_DIGITS and _HEX.issuperset(text)


_HINTS: tuple[tuple[Callable[[str, int], bool], str], ...] = (
    (lambda text, _: not text, "make spans with a tracer of the SDK, which draws ids, and write the id out"),
    (lambda text, _: not text.strip("0"), "use a tracer of an SDK provider: an all-zero id is that of a no-op span"),
    (lambda text, _: text[:2] in ("0x", "0X"), "leave out the 0x prefix"),
    (_is_dashed, "leave out the dashes of the UUID"),
    (_is_half, "let the tracer make 128-bit trace ids (old Jaeger and Zipkin clients make 64-bit ones)"),
    (_is_base64, "write it as hex digits; this looks like base64"),
    (lambda text, _: text != text.strip(), "leave out the white space around it"),
)
