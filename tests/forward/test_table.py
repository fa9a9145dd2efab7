"""The tables of ``destinations``: what each key means, and what is said of one that means nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from otel_gate import settings
from otel_gate.errors import SettingsError
from otel_gate.forward import table as module
from otel_gate.forward.endpoint import Endpoint
from otel_gate.forward.table import FIELDS, endpoint_of, name_of

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "hunter2"  # noqa: S105 - that is the test
ENVIRON = {"TOKEN": SECRET, "EMPTY": "", "TWO_LINES": "a\nb"}
HTTP, GRPC = "http/protobuf", "grpc"


def read(**keys: Any) -> Endpoint:
    """Read a table with these keys, and a name and an endpoint."""
    return endpoint_of({"name": "team", "endpoint": "http://c:4317", **keys}, ENVIRON, "agent/1")


def test_what_is_not_set_has_its_default() -> None:
    """As for the endpoint of the environment: gRPC, ten seconds, no compression, no headers, batches."""
    assert read() == Endpoint("grpc", "http://c:4317", True, {}, 10.0, False, None, None, None, "agent/1", False)


def test_every_key_has_its_meaning() -> None:
    """A table with all keys becomes an endpoint with all its parts."""
    found = read(
        endpoint="https://c/in", protocol=HTTP, headers={"X-Team": "a"}, compression="gzip", timeout=2, exact=True,
        certificate="/ca", client_certificate="/own", client_key="/key",
    )  # fmt: skip
    assert found == Endpoint(
        HTTP, "https://c/in", False, {"x-team": "a"}, 2.0, True, "/ca", "/key", "/own", "agent/1", True
    )


def test_the_example_of_the_docstring_is_one(project: Path) -> None:
    """What the module shows can be written into a file, and means what it says there."""
    lines = [line[4:] for line in (module.__doc__ or "").splitlines() if line.startswith("    ")]
    (project / "otel-gate.toml").write_text("\n".join(lines), encoding="utf-8")
    [shown] = settings.load({}, environ={}, cwd=project, strict=True).settings.destinations
    assert set(shown) == set(FIELDS)
    found = endpoint_of(shown, {"TEAM_TOKEN": SECRET}, "agent/1")
    assert found.url == "https://collector:4318/v1/traces"
    assert found.headers == {"authorization": f"Bearer {SECRET}"}
    assert (found.certificate, found.exact) == (str(project / "ca.pem"), True)


@pytest.mark.parametrize(
    ("endpoint", "protocol", "url"),
    [
        ("http://c:4318", HTTP, "http://c:4318/v1/traces"), ("http://c:4318/", HTTP, "http://c:4318/v1/traces"),
        ("http://c:4318/in", HTTP, "http://c:4318/in"), ("http://c:4318/in/", HTTP, "http://c:4318/in/"),
        ("http://c:4317", GRPC, "http://c:4317"),
    ],
)  # fmt: skip
def test_an_address_without_a_path_gets_one_over_http(endpoint: str, protocol: str, url: str) -> None:
    """A path of one's own stays as it is."""
    assert read(endpoint=endpoint, protocol=protocol).url == url


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${TOKEN}", SECRET), ("Bearer ${TOKEN}", f"Bearer {SECRET}"), ("${TOKEN}${TOKEN}", SECRET * 2), ("$$5", "$5"),
        ("$${TOKEN}", "${TOKEN}"), ("$TOKEN", "$TOKEN"), ("${}", "${}"), ("a$", "a$"), (" a ", "a"),
    ],
)  # fmt: skip
def test_a_header_may_refer_to_the_environment(text: str, value: str) -> None:
    """``${NAME}`` is the variable, ``$$`` a dollar, and any other dollar itself."""
    assert read(headers={"Authorization": text}).headers == {"authorization": value}


ADDRESS = "endpoint: expected http://HOST:PORT or https://HOST:PORT, got"
TIME = "timeout: expected seconds, more than 0 and at most 3600, got"
UNSENDABLE = "expected a name and a text that grpc can send, got another one"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"endpoint": "c:4317"}, f"{ADDRESS} another str"),
        ({"endpoint": 7}, f"{ADDRESS} another int"),
        (
            {"endpoint": f"ftp://u:{SECRET}@c"},
            f"{ADDRESS} another one, with credentials or a query; try http://localhost:4317",
        ),
        ({"protocol": "http/json"}, "protocol: expected grpc or http/protobuf, got 'http/json'"),
        ({"compression": "zstd"}, "compression: expected none or gzip, got 'zstd'"),
        ({"timeout": 0}, f"{TIME} 0"),
        ({"timeout": True}, f"{TIME} True"),
        ({"timeout": float("nan")}, f"{TIME} nan"),
        ({"exact": "yes"}, "exact: expected true or false, got 'yes'"),
        ({"certificate": ""}, "certificate: expected the path of a file, got another str"),
        ({"headers": SECRET}, "headers: expected a table of texts, got another str"),
        ({"headers": {"a": 7}}, "header 'a': expected a text, got a value of the type int"),
        (
            {"headers": {"a": "${NONE}"}},
            "header 'a': expected the variable NONE in the environment, got none; try setting NONE",
        ),
        (
            {"headers": {"a": "${EMPTY}"}},
            "header 'a': expected the variable EMPTY in the environment, got none; try setting EMPTY",
        ),
        ({"headers": {"a": "${TWO_LINES}"}}, f"header 'a': {UNSENDABLE}"),
        ({"headers": {"a b": SECRET}}, f"header 'a b': {UNSENDABLE}"),
        ({"headers": {"a": f"{SECRET}\t1"}}, f"header 'a': {UNSENDABLE}"),
        ({"header": {"a": SECRET}}, "expected a key of a destination, got 'header'; try headers"),
        ({"zzz": SECRET}, f"expected a key of a destination, got 'zzz'; try {', '.join(FIELDS)}"),
        (
            {"client_key": "/k"},
            "client_certificate: expected a file, since destination team: client_key names one, got nothing",
        ),
        (
            {"client_certificate": "/c"},
            "client_key: expected a file, since destination team: client_certificate names one, got nothing",
        ),
    ],
)
def test_a_message_says_which_expected_and_got(keys: dict[str, Any], message: str) -> None:
    """What can't be is named with its destination and key, and nothing that may be a secret is shown."""
    with pytest.raises(SettingsError) as caught:
        read(**keys)
    assert str(caught.value) == f"destination team: {message}"
    assert SECRET not in message


def test_a_missing_endpoint_is_named() -> None:
    """A destination has an address."""
    with pytest.raises(SettingsError, match=r"^destination team: endpoint: expected http.*, got nothing$"):
        endpoint_of({"name": "team"}, {}, "")


@pytest.mark.parametrize("name", [None, "", "a b", "a" * 65, "é", 7, ["a"]])
def test_a_name_is_plain(name: Any) -> None:
    """It stands in the outbox, in messages and on the command line; the number tells which one it is about."""
    with pytest.raises(SettingsError, match="destinations, number 3: name: expected 1 to 64 letters"):
        name_of({} if name is None else {"name": name}, 3, frozenset())


def test_a_misspelt_name_is_told_as_such() -> None:
    """A key that is unknown says more than a name that is not there."""
    with pytest.raises(SettingsError) as caught:
        name_of({"nam": "a", "endpoint": SECRET}, 1, frozenset())
    assert str(caught.value) == "destinations, number 1: expected a key of a destination, got 'nam'; try name"


def test_two_destinations_have_two_names() -> None:
    """What is owed could not be told apart otherwise."""
    with pytest.raises(SettingsError, match="number 2: name: expected one of its own, got a again; try a-2"):
        name_of({"name": "a"}, 2, frozenset({"a"}))


def test_over_http_one_file_may_hold_both() -> None:
    """A client certificate without a key is a file that has its key; a tab in a header is a text there."""
    found = read(protocol=HTTP, client_certificate="/own", headers={"a": "b\tc"})
    assert (found.client_certificate, found.client_key, found.headers) == ("/own", None, {"a": "b\tc"})
