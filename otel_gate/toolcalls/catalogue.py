"""A catalogue: the tools that an agent may call, as one value with one hash.

The hash is the SHA-256 of the RFC 8785 bytes of all tools in their order, fields in theirs: it says exactly which
interface a run saw, whatever form that came in. The same bytes are what is stored, and what ``load`` reads back.
Everything hostile ends here: a catalogue that could be made holds schemas that code can walk without further care.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otel_gate.core.canonical import Unhashable, canonical
from otel_gate.core.counted import counted
from otel_gate.errors import CatalogueError
from otel_gate.toolcalls.forms import entries, tool_of
from otel_gate.toolcalls.forms.ordering import spelled_out
from otel_gate.toolcalls.forms.schema import checked, quoted, said

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from otel_gate.toolcalls.model import Tool

SCHEMA = "otel-gate/catalogue/1"
ATTRIBUTE = "tool.catalogue.sha256"  # on a tool span: the hash of the catalogue that the call was judged by
UNNAMED = "(unnamed)"  # the tool of a call that names none: a name that no provider accepts, so no tool has it
MAX_NAME = 256
MAX_BYTES = 64 << 20


class Catalogue:
    """Tools by name, in their order; equal when their hashes are.

    ``hash`` is 64 lower-hex digits. Two tools of one name, or a schema that is none, is a ``CatalogueError``.
    """

    __slots__ = ("_by_name", "content", "hash", "tools")

    _by_name: dict[str, Tool]
    tools: tuple[Tool, ...]
    content: bytes
    hash: str

    def __init__(self, tools: Iterable[Tool]) -> None:
        """Take tools; they and their schemas must not be changed afterwards.

        Raises:
            CatalogueError: a tool has no name, a name that another has, or a schema that is none.
        """
        kept = tuple(tools)
        by_name: dict[str, Tool] = {}
        for place, tool in enumerate(kept):
            by_name[_name(tool, place, by_name)] = tool
        content = _bytes(kept)
        values = {"tools": kept, "_by_name": by_name, "content": content, "hash": hashlib.sha256(content).hexdigest()}
        for attribute, value in values.items():
            object.__setattr__(self, attribute, value)

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: a catalogue is a value."""
        message = f"a catalogue is a value; {name} can't be set"
        raise AttributeError(message)

    def __delattr__(self, name: str) -> None:
        """Refuse: a catalogue is a value."""
        message = f"a catalogue is a value; {name} can't be deleted"
        raise AttributeError(message)

    def __reduce__(self) -> tuple[type[Catalogue], tuple[tuple[Tool, ...]]]:
        """Say how a copy is made."""
        return Catalogue, (self.tools,)

    def __iter__(self) -> Iterator[Tool]:
        """Go through the tools in their order."""
        return iter(self.tools)

    def __len__(self) -> int:
        """Count the tools."""
        return len(self.tools)

    def __contains__(self, name: object) -> bool:
        """Say whether a tool of this name is there."""
        return name in self._by_name

    def __getitem__(self, name: str) -> Tool:
        """Return the tool of a name; a ``KeyError`` when there is none."""
        return self._by_name[name]

    def get(self, name: str) -> Tool | None:
        """Return the tool of a name, or None."""
        return self._by_name.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools in their order."""
        return tuple(self._by_name)

    def __eq__(self, other: object) -> bool:
        """Compare by hash."""
        return self.hash == other.hash if isinstance(other, Catalogue) else NotImplemented

    def __hash__(self) -> int:
        """Hash by hash."""
        return int(self.hash[:15], 16)

    def __repr__(self) -> str:
        """Name the tools' number and the hash."""
        return f"Catalogue({counted(len(self), 'tool')}, {self.hash[:12]})"


def catalogue_of(*tools: Any) -> Catalogue:
    """Return a catalogue of tools in any form: ``Tool``, a provider's object, a pydantic model, a plain callable.

    Raises:
        CatalogueError: one of them is none of these, or can't be a tool.
    """
    return Catalogue(tool_of(one, place) for place, one in enumerate(tools))


def load(source: str | Path | bytes, which: str = "") -> Catalogue:
    """Read a catalogue from a file, or from its bytes; the form is recognised; errors call it ``which``.

    OpenAI (chat and responses), Anthropic, Gemini, MCP's ``tools/list``, BFCL's dialect, and our own stored bytes are
    known, each as a list of tools, as one tool, or inside the request or answer that carries it.

    Raises:
        CatalogueError: there is no such file, or no catalogue in it.
    """
    if isinstance(source, bytes):
        return _read(source, which or "catalogue")
    try:
        with Path(source).open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        got = getattr(error, "strerror", None) or str(error)
        raise CatalogueError(which or str(source), "a file of tools", got, "another path") from error
    return _read(content, which or str(source))


def catalogue_bytes(catalogue: Catalogue) -> bytes:
    """Return the bytes that are stored under the catalogue's hash, and that ``load`` reads."""
    return catalogue.content


def _read(content: bytes, which: str) -> Catalogue:
    if len(content) > MAX_BYTES:
        raise CatalogueError(which, f"at most {MAX_BYTES} bytes", "more", "fewer tools")
    try:
        value = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_unique, parse_constant=_refused)
    except RecursionError as error:
        raise CatalogueError(which, "JSON", "one that nests too deep", "flatter schemas") from error
    except ValueError as error:
        raise CatalogueError(which, "JSON", str(error), "a JSON list of tools") from error
    return Catalogue(tool_of(entry, place) for place, entry in enumerate(entries(value, which)))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        message = f"the key {quoted(twice)} twice in one object"
        raise ValueError(message)
    return found


def _refused(constant: str) -> Any:
    message = f"{constant}, which is no JSON number"
    raise ValueError(message)


def _name(tool: Tool, place: int, taken: dict[str, Tool]) -> str:
    name = tool.name
    if not isinstance(name, str) or not name or len(name) > MAX_NAME:
        got = said(name) if name != "" else "none"
        raise CatalogueError(which=f"tool {place}", expected=f"a name of 1 to {MAX_NAME} characters", got=got)
    if name in taken:
        raise CatalogueError(
            which=f"tool {quoted(name)}",
            expected="a name of its own",
            got="two tools of it",
            try_="renaming one of them",
        )
    if not isinstance(tool.description, str):
        raise CatalogueError(which=f"tool {quoted(name)}, description", expected="a text", got=said(tool.description))
    checked(tool.parameters, f"tool {quoted(name)}")
    return name


def _bytes(tools: tuple[Tool, ...]) -> bytes:
    return b'{"schema":"%s","tools":[%s]}' % (SCHEMA.encode(), b",".join(map(_tool_bytes, tools)))


def _tool_bytes(tool: Tool) -> bytes:
    parameters = spelled_out(tool.parameters)
    try:
        return canonical({"name": tool.name, "description": tool.description, "parameters": parameters})
    except Unhashable as error:
        raise _unhashable(tool, error) from error


def _unhashable(tool: Tool, error: Unhashable) -> CatalogueError:
    """Return the error of a tool that has no canonical bytes; of a text that has none, it shows the character."""
    which, cause = f"tool {quoted(tool.name)}", error.__cause__
    if isinstance(cause, UnicodeEncodeError):
        got = f"half a surrogate pair, {cause.object[cause.start]!a}"
        return CatalogueError(which, "text that UTF-8 can carry", got, "the whole character")
    return CatalogueError(which, error.expected, error.got)
