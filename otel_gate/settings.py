"""What can be set, where each value comes from, and what is said about a value that can't be.

Sources, strongest first: keyword, ``OTEL_GATE_<NAME>``, the nearest ``otel-gate.toml`` or ``[tool.otel-gate]`` upwards
from the working folder to the repository root, default. A keyword is code: what is wrong with one is raised. What is
wrong with the environment or a file must never break an agent: ``strict=False`` keeps it and takes the next source.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from otel_gate.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PREFIX = "OTEL_GATE_"
NOT_SETTINGS = frozenset({"OTEL_GATE_REQUIRE", "OTEL_GATE_FORMAT", "OTEL_GATE_COLOR"})
KEYWORD = "keyword"
DEFAULT = "default"
LARGEST = 10**12  # as milliseconds still a time that a thread can wait for
SHOWN = 80  # characters of a value that a message shows
SWITCH = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
REFERENCE = "package.module:name"
FILES = frozenset({"certificate", "client_certificate", "client_key"})  # of a destination
RUN_IDS = ("auto", "require", "conversation", "trace")  # each a policy; any other text is the run id itself
NEAR = 0.8
GATEWAY_FILES = frozenset({"tls_certificate", "tls_key", "client_ca", "token_file"})


class Settings(NamedTuple):
    """Every setting (DESIGN section 7) with its default; ``_ms``, ``_s`` and ``_bytes`` are the units.

    ``remote_parent`` None is "root" inside a process and "reject" for files; ``redact``, ``rules`` and ``conventions``
    may hold texts that ``resolve`` turns into functions; ``destinations`` are tables as ``forward.table`` describes
    them, in place of ``OTEL_EXPORTER_OTLP_*``; ``gateway`` is the table of ``otel-gate serve`` (``gateway.options``);
    with ``handle_sigterm`` False a process that gets SIGTERM leaves its journal instead of records.
    """

    store: Path = Path(".otel-gate")
    mode: Literal["enforce", "observe"] = "enforce"
    run_id: str | Callable[[Any], str | None] = "auto"
    remote_parent: Literal["root", "reject"] | None = None
    grace_ms: int = 200
    quiet_ms: int = 6_000
    trace_timeout_ms: int = 60_000
    max_trace_spans: int = 100_000
    max_trace_bytes: int = 256 * 1024**2
    max_trace_age_s: int = 86_400
    max_open_bytes: int = 512 * 1024**2
    keep_arguments: bool = True
    redact: Callable[[str, Any], Any] | str | None = None
    forward_arguments: Literal["keep", "hash"] = "keep"
    exporter: Any = None
    sync: Literal["process", "always"] = "process"
    layout: Literal["files", "segments"] = "files"
    handle_sigterm: bool = True
    destinations: tuple[Mapping[str, Any], ...] = ()
    gateway: Mapping[str, Any] = MappingProxyType({})
    rules: tuple[Any, ...] = ()
    conventions: tuple[Any, ...] = ()


class Loaded(NamedTuple):
    """The settings, where each value came from, and what was wrong with values that were passed over."""

    settings: Settings
    origin: dict[str, str]
    problems: list[SettingsError]


class _Kind(NamedTuple):
    """What a setting can be: in words, something to try, the test, and the ways in from text and out to the agent."""

    expected: str
    try_: str
    accepts: Callable[[Any], bool]
    parse: Callable[[str], object] = str
    finish: Callable[[Any, Path], object] = lambda value, _base: value
    shown: Callable[[object], str] = lambda value: _shown(value)  # noqa: PLW0108 - it is defined further down


class _Source(NamedTuple):
    """Values by setting, the folder that relative paths start from, and a label that says whose they are."""

    label: str
    values: Mapping[str, Any]
    base: Path

    def origin(self, name: str) -> str:
        return PREFIX + name.upper() if self.label == PREFIX else self.label

    def which(self, name: str) -> str:
        return self.origin(name) if self.label == PREFIX else f"{name} ({self.label})"


def load(keywords: Mapping[str, Any], *, environ: Mapping[str, str], cwd: Path, strict: bool) -> Loaded:
    """Settle every setting from its strongest source; keyword values of None count as not given.

    Raises:
        SettingsError: for the first problem of a keyword, or of any source when ``strict``.
    """
    file, unreadable = _nearest_file(cwd)
    given = {name: value for name, value in keywords.items() if value is not None}
    defaults = _Source(DEFAULT, Settings._field_defaults, cwd)
    sources = (_Source(KEYWORD, given, cwd), _environment(environ, cwd), file, defaults)
    problems = [(file, problem) for problem in unreadable]
    problems += [(source, _unknown(source, name)) for source in sources for name in source.values if name not in _KINDS]
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for name, kind in _KINDS.items():
        holders = [source for source in sources if name in source.values]
        good = next(source for source in holders if kind.accepts(source.values[name]))
        problems += [(source, _mismatch(source, name)) for source in holders[: holders.index(good)]]
        values[name] = kind.finish(good.values[name], good.base)
        origin[name] = good.origin(name)
    for source, problem in problems:
        if strict or source.label == KEYWORD:
            raise problem
    return Loaded(Settings(**values), origin, [problem for _, problem in problems])


def parse(name: str, text: str) -> object:
    """Return the value that a text means for a setting; what it can't be stays text, and is refused when it is set."""
    return _KINDS[name].parse(text)


def resolve(text: str) -> object:
    """Import what ``package.module:name`` names; the name may have dots.

    Raises:
        SettingsError: when the text has another form, the module can't be imported or has no such name.
    """
    if not _is_reference(text):
        raise SettingsError(_shown(text), REFERENCE, "another form", "the function's module, a colon and its name")
    module, _, name = text.partition(":")
    import importlib  # noqa: PLC0415 - most programs name no function in text

    try:
        found: object = importlib.import_module(module)
    except SettingsError:  # one of ours says itself what it lacks
        raise
    except Exception as error:
        got = f"{type(error).__name__}: {error}"
        raise SettingsError(
            text, f"a module {module} to import", got, "PYTHONPATH=. if it is in this folder"
        ) from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise SettingsError(text, f"a name {name} in {module}", f"none called {part}", "a function defined in it")
        found = getattr(found, part)
    return found


def _environment(environ: Mapping[str, str], cwd: Path) -> _Source:
    values: dict[str, object] = {}
    for variable, text in environ.items():
        if variable.startswith(PREFIX) and variable not in NOT_SETTINGS and text:
            name = variable.removeprefix(PREFIX).lower()
            values[name] = _KINDS[name].parse(text) if name in _KINDS else text
    return _Source(PREFIX, values, cwd)


def _nearest_file(cwd: Path) -> tuple[_Source, list[SettingsError]]:
    """Find the nearest file with settings; one that can't be read is a problem and ends the search."""
    for path in _places(cwd):
        try:
            values = _table(path)
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            problem = SettingsError(str(path), "a TOML file with settings", str(error), "to mend or to remove it")
            return _Source(str(path), {}, path.parent), [problem]
        if values is not None:
            return _Source(str(path), values, path.parent), []
    return _Source("", {}, cwd), []


def _places(cwd: Path) -> Iterator[Path]:
    for folder in (cwd, *cwd.parents):
        yield folder / "otel-gate.toml"
        yield folder / "pyproject.toml"
        if (folder / ".git").exists():
            return


def _table(path: Path) -> dict[str, Any] | None:
    """Read the settings of a file; None when it is a project file without any (most are not even parsed)."""
    text = path.read_text(encoding="utf-8-sig")
    if path.name == "pyproject.toml" and "otel-gate" not in text:
        return None
    import tomllib  # noqa: PLC0415 - most programs have no such file

    document = tomllib.loads(text)
    if path.name != "pyproject.toml":
        return document
    tool = document.get("tool")
    table = tool.get("otel-gate", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        message = f"tool.otel-gate = {_shown(table)}"
        raise ValueError(message)  # noqa: TRY004 - as from the parser: what stands there is no settings table
    return table or None


def _unknown(source: _Source, name: str) -> SettingsError:
    import difflib  # noqa: PLC0415 - only for a name that is wrong

    near = difflib.get_close_matches(name.lower(), _KINDS, n=1)
    names = [PREFIX + found.upper() if source.label == PREFIX else found for found in near or _KINDS]
    try_ = names[0] if near else f"one of {', '.join(names)}"
    return SettingsError(source.which(name), "the name of a setting", _shown(name), try_)


def _mismatch(source: _Source, name: str) -> SettingsError:
    kind = _KINDS[name]
    value = source.values[name]
    near = _near_run_id(value) if name == "run_id" and isinstance(value, str) else ""
    try_ = near or kind.try_ or str(Settings._field_defaults[name])
    return SettingsError(source.which(name), kind.expected, kind.shown(value), try_)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"


def _choice(*options: str | None) -> _Kind:
    words = [option for option in options if option]
    return _Kind(" or ".join(words), words[0], lambda value: isinstance(value, str | None) and value in options)


def _number(unit: str) -> _Kind:
    return _Kind(f"a whole number of {unit} from 0 to 10^12", "", _is_number, _digits)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST


def _digits(text: str) -> object:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST)) else text


def _is_switch(value: object) -> bool:
    return isinstance(value, bool)


def _switch(text: str) -> object:
    return SWITCH.get(text.lower(), text)


def _is_folder(value: object) -> bool:
    return isinstance(value, str | PurePath) and str(value) != "" and "\0" not in str(value)


def _absolute(value: str | PurePath, base: Path) -> Path:
    return base / os.path.expanduser(value)  # noqa: PTH111 - pathlib's raises where there is no home


def _is_run_id(value: object) -> bool:
    if not isinstance(value, str):
        return callable(value)
    return value.strip() != "" and value.isprintable() and not _near_run_id(value)


def _near_run_id(text: str) -> str:
    """Return the policy that a text is nearly the name of: as a run id it would hide every trace that has none."""
    word = text.strip().lower()
    if text in RUN_IDS or not (word.replace("_", "").replace("-", "")).isalpha():
        return ""
    word = word.removesuffix("id").rstrip("_-") if word not in RUN_IDS else word
    turned = [policy for policy in RUN_IDS if sorted(policy) == sorted(word)]
    import difflib  # noqa: PLC0415 - only for a text of one's own

    return next(iter(turned or difflib.get_close_matches(word, RUN_IDS, 1, NEAR)), "")


def _is_reference(value: object) -> bool:
    if not isinstance(value, str) or value.count(":") != 1:
        return False
    return all(part.isidentifier() for part in value.replace(":", ".").split("."))


def _is_redact(value: object) -> bool:
    return value is None or callable(value) or _is_reference(value)


def _is_exporter(value: object) -> bool:
    return value is None or (callable(getattr(value, "export", None)) and not isinstance(value, type))


def _is_rule(value: object) -> bool:
    return callable(value) or callable(getattr(value, "check", None)) or _is_reference(value)


def _is_convention(value: object) -> bool:
    return callable(value) or callable(getattr(value, "recognise", None)) or _is_reference(value)


def _are_conventions(value: object) -> bool:
    return isinstance(value, str | list | tuple) and all(map(_is_convention, _items(value)))


def _are_rules(value: object) -> bool:
    return isinstance(value, str | list | tuple) and all(map(_is_rule, _items(value)))


def _items(value: str | Sequence[object], _base: Path | None = None) -> tuple[object, ...]:
    return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else tuple(value)


def _are_tables(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(table, Mapping) for table in value)


def _tables(value: Sequence[Mapping[str, Any]], base: Path) -> tuple[dict[str, Any], ...]:
    return tuple({key: _file(text, base) if key in FILES else text for key, text in table.items()} for table in value)


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping)


def _gateway(table: Mapping[str, Any], base: Path) -> dict[str, Any]:
    return {key: _file(value, base) if key in GATEWAY_FILES else value for key, value in table.items()}


def _file(value: object, base: Path) -> object:
    return str(_absolute(value, base)) if isinstance(value, str) and _is_folder(value) else value


def _unread(value: object) -> str:
    """Say what a value is and not what it says: there may be a secret in it."""
    return f"a value of the type {type(value).__name__}"


_KINDS: dict[str, _Kind] = {
    "store": _Kind("a folder", "", _is_folder, finish=_absolute),
    "mode": _choice("enforce", "observe"),
    "run_id": _Kind(f"{', '.join(RUN_IDS)}, or a text that is not nearly one of these", "", _is_run_id),
    "remote_parent": _choice("root", "reject", None),
    "grace_ms": _number("milliseconds"),
    "quiet_ms": _number("milliseconds"),
    "trace_timeout_ms": _number("milliseconds"),
    "max_trace_spans": _number("spans"),
    "max_trace_bytes": _number("bytes"),
    "max_trace_age_s": _number("seconds"),
    "max_open_bytes": _number("bytes"),
    "keep_arguments": _Kind("true or false", "true", _is_switch, _switch),
    "redact": _Kind(f"a function, or {REFERENCE}", REFERENCE, _is_redact),
    "forward_arguments": _choice("keep", "hash"),
    "exporter": _Kind("a SpanExporter object", "exporter= in Python", _is_exporter),
    "sync": _choice("process", "always"),
    "layout": _choice("files", "segments"),
    "handle_sigterm": _Kind("true or false", "true", _is_switch, _switch),
    "destinations": _Kind(
        "a list of tables", "[[destinations]] in otel-gate.toml", _are_tables, finish=_tables, shown=_unread
    ),
    "gateway": _Kind("a table", "[gateway] in otel-gate.toml", _is_table, finish=_gateway, shown=_unread),
    "rules": _Kind(f"a list of functions, or of {REFERENCE}", REFERENCE, _are_rules, finish=_items),
    "conventions": _Kind(f"a list of functions, or of {REFERENCE}", REFERENCE, _are_conventions, finish=_items),
}
