r"""Text that others wrote, made safe to print: it drives no terminal, hides nothing, and is no command to a CI runner.

A model writes names, ids and messages. What Python calls not printable is shown as ``\xNN``, ``\uNNNN`` or
``\UNNNNNNNN``: controls (ESC, CR and LF among them), bidirectional and zero-width characters, the Unicode line
separators, lone surrogates. CI runners read commands from a log: ``::name::`` at the start of a line, after white space
(GitHub), and ``##[name]``, ``##vso[``, ``##teamcity[`` anywhere (GitHub, Azure, TeamCity).
"""

from __future__ import annotations

import re

LAST_OF_TWO_DIGITS, LAST_OF_FOUR_DIGITS = 0xFF, 0xFFFF
_RUNNER_COMMAND = r"#(?=#[A-Za-z-]*\[)"
_WORKFLOW_COMMAND = r"^( *):(?=:)"
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u2800\u3164\uffa0")


def printable(text: str) -> str:
    r"""Return one line of text in which nothing can act: what is not plain text stands as ``\x1b`` and the like."""
    if not (text.isprintable() and _shows(text)):
        text = "".join(one if _is_plain(one) else _escaped(one) for one in text)
    text = re.sub(_RUNNER_COMMAND, r"\\x23", text) if "##" in text else text
    return re.sub(_WORKFLOW_COMMAND, r"\1\\x3a", text) if "::" in text else text


def printable_json(text: str) -> str:
    r"""Return JSON text that means the same and is safe to print: what could act stands as ``\u`` escapes."""
    if not (text.replace("\n", "").isprintable() and _shows(text)):
        text = "".join(one if one == "\n" or _is_plain(one) else _json_escaped(one) for one in text)
    return re.sub(_RUNNER_COMMAND, r"\\u0023", text) if "##" in text else text


def shortened(text: str, most: int) -> str:
    """Return a printable text of at most ``most`` characters."""
    head = printable(text[: most + 1])
    return head if len(head) <= most and len(text) <= most else f"{head[: most - 1]}…"


def word(text: str) -> str:
    """Return a printable text that stands as one word in a line: quoted when it is empty or holds white space."""
    return f'"{text}"' if not text or " " in text else text


def _is_plain(one: str) -> bool:
    return one.isprintable() and one not in _BLANK_LETTERS


def _shows(text: str) -> bool:
    """Tell whether no letter in a text is blank."""
    return text.isascii() or _BLANK_LETTERS.isdisjoint(text)


def _escaped(one: str) -> str:
    number = ord(one)
    if number <= LAST_OF_TWO_DIGITS:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= LAST_OF_FOUR_DIGITS else f"\\U{number:08x}"


def _json_escaped(one: str) -> str:
    units = one.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
