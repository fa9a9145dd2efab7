"""The endpoint: what each variable of the environment means, and what is said of one that means nothing."""

from __future__ import annotations

import pytest

from otel_gate.errors import SettingsError
from otel_gate.forward.endpoint import Endpoint, from_environment

PREFIX = "OTEL_EXPORTER_OTLP_"
SECRET = "hunter2"  # noqa: S105 - that is the test


def read(**variables: str) -> Endpoint | None:
    return from_environment({PREFIX + name: text for name, text in variables.items()}, "agent/1")


def found(**variables: str) -> Endpoint:
    endpoint = read(**{"ENDPOINT": "http://c:1", **variables})
    assert endpoint is not None
    return endpoint


@pytest.mark.parametrize(
    "variables",
    [{}, {"ENDPOINT": ""}, {"ENDPOINT": "  ", "TRACES_ENDPOINT": ""}, {"PROTOCOL": "grpc", "HEADERS": "a=b"}],
    ids=["nothing", "empty", "blank", "others only"],
)
def test_without_an_endpoint_there_is_none(variables: dict[str, str]) -> None:
    """Nothing is forwarded to a default address."""
    assert read(**variables) is None


@pytest.mark.parametrize(
    ("variables", "url"),
    [
        ({"ENDPOINT": "http://c:4318", "PROTOCOL": "http/protobuf"}, "http://c:4318/v1/traces"),
        ({"ENDPOINT": "http://c:4318/", "PROTOCOL": "http/protobuf"}, "http://c:4318/v1/traces"),
        ({"ENDPOINT": "https://c/otlp/", "PROTOCOL": "http/protobuf"}, "https://c/otlp/v1/traces"),
        ({"TRACES_ENDPOINT": "http://c/in", "PROTOCOL": "http/protobuf"}, "http://c/in"),
        ({"TRACES_ENDPOINT": "http://c", "PROTOCOL": "http/protobuf"}, "http://c"),
        ({"TRACES_ENDPOINT": "http://c/in", "ENDPOINT": "http://d", "PROTOCOL": "http/protobuf"}, "http://c/in"),
        ({"TRACES_ENDPOINT": " ", "ENDPOINT": " http://d ", "PROTOCOL": "http/protobuf"}, "http://d/v1/traces"),
        ({"ENDPOINT": "http://c:4317"}, "http://c:4317"),
        ({"ENDPOINT": "c:4317"}, "c:4317"),
        ({"ENDPOINT": "HTTPS://c:4317"}, "HTTPS://c:4317"),
    ],
)
def test_a_base_address_gets_the_path_and_an_own_one_stays(variables: dict[str, str], url: str) -> None:
    """Only HTTP, and only the variable for all signals, has v1/traces appended."""
    endpoint = read(**variables)
    assert endpoint is not None
    assert endpoint.url == url


def test_the_protocol_is_grpc_unless_said_otherwise() -> None:
    """As in the SDK, gRPC is what an unset protocol means."""
    assert found().protocol == "grpc"
    assert found(PROTOCOL="http/protobuf").protocol == "http/protobuf"


@pytest.mark.parametrize(
    ("name", "general", "own", "field", "value"),
    [
        ("PROTOCOL", "grpc", "http/protobuf", "protocol", "http/protobuf"),
        ("HEADERS", "a=1", "b=2", "headers", {"b": "2"}),
        ("TIMEOUT", "3", "4", "timeout_s", 4.0),
        ("COMPRESSION", "gzip", "none", "gzip", False),
        ("CERTIFICATE", "/a", "/b", "certificate", "/b"),
    ],
)
def test_the_form_for_traces_wins(name: str, general: str, own: str, field: str, value: object) -> None:
    """A TRACES form stands above the variable for all signals, whose value counts when it is blank."""
    assert getattr(found(**{name: general, f"TRACES_{name}": own}), field) == value
    assert getattr(found(**{name: own, f"TRACES_{name}": " "}), field) == value


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_a_certificate_and_its_key_go_together(protocol: str) -> None:
    """The form for traces wins for each of them."""
    names = {"CLIENT_KEY": "/a", "CLIENT_CERTIFICATE": "/b", "TRACES_CLIENT_CERTIFICATE": "/c"}
    endpoint = found(PROTOCOL=protocol, TRACES_CLIENT_KEY="/k", **names)
    assert (endpoint.client_key, endpoint.client_certificate) == ("/k", "/c")


@pytest.mark.parametrize(
    ("protocol", "name", "missing"),
    [
        ("grpc", "CLIENT_KEY", "CLIENT_CERTIFICATE"), ("http/protobuf", "CLIENT_KEY", "CLIENT_CERTIFICATE"),
        ("grpc", "TRACES_CLIENT_CERTIFICATE", "CLIENT_KEY"),
    ],
)  # fmt: skip
def test_one_of_the_two_alone_is_a_settings_error(protocol: str, name: str, missing: str) -> None:
    """The error names the variable that is missing, and the one that asks for it."""
    with pytest.raises(SettingsError) as caught:
        found(PROTOCOL=protocol, **{name: "/a"})
    assert caught.value.which == PREFIX + missing
    assert PREFIX + name in caught.value.expected


def test_over_http_one_file_may_hold_both() -> None:
    """A client certificate without a key is a file that has its key."""
    assert found(PROTOCOL="http/protobuf", CLIENT_CERTIFICATE="/a").client_certificate == "/a"


def test_what_is_not_set_has_its_default() -> None:
    """Ten seconds, no compression, no headers, no certificates, and the given User-Agent."""
    assert found() == Endpoint("grpc", "http://c:1", True, {}, 10.0, False, None, None, None, "agent/1")


@pytest.mark.parametrize(
    ("url", "insecure", "expected"),
    [
        ("http://c:1", "", True), ("https://c:1", "", False), ("https://c:1", "true", False), ("c:1", "", False),
        ("c:1", "true", True), ("c:1", "TRUE", True), ("c:1", "false", False), ("http://c:1", "false", True),
    ],
)  # fmt: skip
def test_a_scheme_decides_about_tls_and_insecure_where_there_is_none(url: str, insecure: str, expected: bool) -> None:  # noqa: FBT001
    """GRPC without a scheme is encrypted unless INSECURE says true."""
    assert found(ENDPOINT=url, INSECURE=insecure).insecure is expected


@pytest.mark.parametrize(
    ("text", "headers"),
    [
        ("a=b", {"a": "b"}), ("Authorization=Bearer%20x%3D%3D", {"authorization": "Bearer x=="}),
        ("a=b==,c=d", {"a": "b==", "c": "d"}), (" a = b , ,c=", {"a": "b", "c": ""}),
        ("a=%2C%20b", {"a": ", b"}), ("X%2DKey=1", {"x-key": "1"}), ("a=1,A=2", {"a": "2"}),
    ],
)  # fmt: skip
def test_headers_are_url_encoded_pairs(text: str, headers: dict[str, str]) -> None:
    """Names are lower-cased, both sides decoded, an equals sign in a value kept, blanks around dropped."""
    assert found(HEADERS=text).headers == headers


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("", 10.0), ("5", 5.0), ("0.25", 0.25), ("999", 999.0), ("1000", 1.0), ("10000", 10.0), ("2500", 2.5)],
)
def test_a_timeout_is_seconds_or_from_1000_on_milliseconds(text: str, seconds: float) -> None:
    """The Python SDK reads seconds, the specification says milliseconds: both are understood."""
    assert found(TIMEOUT=text).timeout_s == seconds


@pytest.mark.parametrize(("text", "expected"), [("", False), ("none", False), ("gzip", True), ("GZIP", True)])
def test_compression_is_gzip_or_none(text: str, expected: bool) -> None:  # noqa: FBT001
    """Both words are read in any case."""
    assert found(COMPRESSION=text).gzip is expected


@pytest.mark.parametrize(
    ("name", "text", "protocol"),
    [
        ("PROTOCOL", "http/json", ""), ("PROTOCOL", "http", ""), ("COMPRESSION", "deflate", ""), ("INSECURE", "1", ""),
        ("TIMEOUT", "soon", ""), ("TIMEOUT", "0", ""), ("TIMEOUT", "-1", ""),
        ("TIMEOUT", "nan", ""), ("TIMEOUT", "inf", ""),
        ("ENDPOINT", "ftp://c", ""), ("ENDPOINT", "http://", ""), ("ENDPOINT", "http://[::1", ""),
        ("ENDPOINT", "http://c:port", ""), ("ENDPOINT", "http://c:99999", ""), ("ENDPOINT", "http://c:0", ""),
        ("ENDPOINT", "ht!tp:/bad", ""), ("ENDPOINT", "http://a b:1", ""), ("ENDPOINT", "http://[::1%a b]:1", ""),
        ("ENDPOINT", "http://a,b:1", "http/protobuf"), ("ENDPOINT", '"c":4317', ""),
        ("ENDPOINT", ":4317", ""), ("ENDPOINT", "c:4318", "http/protobuf"), ("ENDPOINT", "/in", "http/protobuf"),
        ("TRACES_ENDPOINT", "ftp://c", "http/protobuf"), ("TRACES_TIMEOUT", "x", ""),
        ("TRACES_COMPRESSION", "zstd", ""),
        ("HEADERS", "nothing", ""), ("HEADERS", "=b", ""), ("HEADERS", "a b=c", ""), ("HEADERS", "ok=1,bad", ""),
    ],
)  # fmt: skip
def test_a_wrong_value_is_a_settings_error_that_names_its_variable(name: str, text: str, protocol: str) -> None:
    """The error says which variable, what it expects, and what to try."""
    with pytest.raises(SettingsError) as caught:
        found(**{"PROTOCOL": protocol, name: text})
    error = caught.value
    assert error.which == PREFIX + name
    assert error.expected
    assert error.got == (text if "HEADERS" not in name else error.got)
    assert error.got


@pytest.mark.parametrize(
    "text", ["{0}", "a={0},{0}", "a b={0}", "a={0}%0Ax", "a={0}%C3%A9", "grpc-status={0}", "trace-bin={0}", "a!b={0}"]
)
def test_no_header_value_is_in_an_error(text: str) -> None:
    """What a client could not send, it would quote: so it is refused before, without its value."""
    with pytest.raises(SettingsError) as caught:
        found(HEADERS=text.format(SECRET))
    assert SECRET not in repr(caught.value)
    assert SECRET not in str(caught.value)


def test_http_takes_header_names_that_grpc_can_not() -> None:
    """What a header may be called depends on the protocol."""
    assert found(PROTOCOL="http/protobuf", HEADERS="a!b=1").headers == {"a!b": "1"}


@pytest.mark.parametrize(
    "url",
    [
        "ftp://me:{0}@c",
        "http://me:{0}@c:port",
        "http://me:{0}/x@c",
        "http://me:{0}#x@c",
        "ftp://c?key={0}",
        "me:{0}@c:x",
    ],
)
def test_no_credentials_of_an_address_are_in_an_error(url: str) -> None:
    """An address that can't be read could hold its password anywhere, so nothing of it is quoted."""
    with pytest.raises(SettingsError) as caught:
        found(ENDPOINT=url.format(SECRET))
    assert SECRET not in repr(caught.value)


@pytest.mark.parametrize(
    ("url", "shown", "target"),
    [
        (f"http://me:{SECRET}@c:1/x?key={SECRET}#{SECRET}", "http://c:1/x", "c:1"),
        ("https://c:4317", "https://c:4317", "c:4317"), ("c:4317", "c:4317", "c:4317"),
        (f"me:{SECRET}@c:4317", "c:4317", "c:4317"), ("http://[::1]:4317/", "http://[::1]:4317/", "[::1]:4317"),
    ],
)  # fmt: skip
def test_an_address_is_shown_without_credentials(url: str, shown: str, target: str) -> None:
    """Neither user, password, query nor fragment is shown; gRPC gets host and port."""
    endpoint = found(ENDPOINT=url)
    assert endpoint.shown == shown
    assert endpoint.target == target


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("no", "no"),
        ("Bearer hunter2 is old", "(hidden) is old"),
        ("hunter2, hunter2", "(hidden), (hidden)"),
        ("Bearer is what I want", "Bearer is what I want"),
        ("a cut hunt", "a cut (hidden)"),
        ("a cut Bearer hunt", "a cut (hidden)"),
        ("?token=hunter3", "?(hidden)"),
        ("user:hunter4", "(hidden)"),
        ("abc", "abc"),
    ],
)
def test_what_a_server_says_is_kept_without_credentials(said: str, shown: str) -> None:
    """Values of headers, what stands before the host and a query are hidden, also where the text ends in one."""
    url = "http://user:hunter4@c:1/?token=hunter3"
    endpoint = found(ENDPOINT=url, HEADERS="authorization=Bearer%20hunter2,x=abc")
    assert endpoint.hide(said) == shown
