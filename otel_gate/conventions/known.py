"""What is remembered of a span whose content is redacted or left out, so that it still means what it meant.

Everything is remembered, since an emitter may write anything inside content: the arguments, but also the tool's name,
the id of the call, or that there was a call at all. Hashes stand for arguments, and for the names and ids of calls that
a parent lists: those are only ever compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.core.canonical import canonical_bytes, hash_of
from otel_gate.core.model import NOWHERE, Known, KnownCall

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Found, Requested
    from otel_gate.conventions.recognise import Understood


HASHED = "sha256:"


def token(text: str) -> str:
    """Return what stands for a text that is only compared; of a token, itself."""
    return text if not text or text.startswith(HASHED) else HASHED + hash_of(text.encode("utf-8", "surrogatepass"))


def is_same(one: str, other: str) -> bool:
    """Tell whether two texts are equal, when of each there may be nothing but its token."""
    return one == other or (HASHED in (one[: len(HASHED)], other[: len(HASHED)]) and token(one) == token(other))


def known(one: Understood, content: str) -> Known:
    """Return what is to be remembered of a span; ``content`` is the hash of what goes."""
    given, hashed = one.arguments, _pair(one.hashed)
    if hashed is NOWHERE and given is not None and not given.unhashed:
        hashed = hash_of(canonical_bytes(given.value)), given.where
    call_id = one.call_id
    if call_id.where.removeprefix("attributes.") not in one.span.attributes:  # it stood in the middle of something
        call_id = call_id._replace(value=token(call_id.value))
    return Known(
        content, one.operation or "", one.convention, one.switch, _pair(one.name), _pair(call_id), _pair(one.run_id),
        _pair(one.conversation), hashed, (given.unhashed if given else None) or "", one.transport,
        tuple(map(_call, one.calls)),
    )  # fmt: skip


def _pair(found: Found) -> tuple[str, str]:
    return (found.value, found.where) if found.value else NOWHERE


def _call(call: Requested) -> KnownCall:
    given, hashed = call.arguments, call.hashed
    if not hashed and not given.unhashed:
        hashed = hash_of(canonical_bytes(given.value))
    return KnownCall(token(call.name), token(call.call_id), hashed, given.unhashed or "", given.where)
