"""``redact`` as the setting of that name: what it finds, what it leaves alone, and that nobody can make it slow."""

from __future__ import annotations

import base64
import concurrent.futures
import hashlib
import json
import re
import time
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT

pytest.importorskip("detect_secrets", reason="the extra secrets is not installed")

from otel_gate.secret_scan import EDGE, MOST, redact, scanned

if TYPE_CHECKING:
    from pathlib import Path

PLACE = re.compile(r"\[secret: ([A-Za-z -]+)\]")
KEY_BODY = "MIIEowIBAAKCAQEA0vx7agoebGcQ+/=\n" * 4
JWT = ".".join(
    base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (b'{"alg":"HS256"}', b'{"sub":"1"}', b"x" * 32)
)
# In parts, so that no scanner of repositories takes them for real ones.
SECRETS = {
    "AKIA" + "IOSFODNN7EXAMPLE": "AWS Access Key",
    "ghp_" + "a1B2" * 9: "GitHub Token",
    "gho_" + "a1B2" * 12: "GitHub Token",
    "github_pat_" + "11ABCDEFG0_" + "a1B2" * 12: "GitHub Token",
    "glpat-" + "a1B2" * 5: "GitLab Token",
    "xoxb-" + "123456789012-123456789012-" + "abcDEF123456": "Slack Token",
    "xapp-1-" + "A012345-6789-" + "abcdef" * 8: "Slack Token",
    "https://hooks.slack.com/services/" + "T00000000/B00000000/XXXXXXXX": "Slack Token",
    f"-----BEGIN RSA PRIVATE KEY-----\n{KEY_BODY}-----END RSA PRIVATE KEY-----": "Private Key",
    f"-----BEGIN OPENSSH PRIVATE KEY-----\n{KEY_BODY}-----END OPENSSH PRIVATE KEY-----": "Private Key",
    f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{KEY_BODY}-----END PGP PRIVATE KEY BLOCK-----": "Private Key",
    JWT: "JSON Web Token",
    "sk_live_" + "a1B2" * 6: "Stripe Access Key",
    "sk_live_" + "a1B2" * 24: "Stripe Access Key",
    "rk_test_" + "a1B2" * 6: "Stripe Access Key",
    "sk-" + "a1B2" * 12: "API Key",
    "sk-proj-" + "a1B2_-" * 20: "API Key",
    "sk-ant-api03-" + "a1B2-_" * 14 + "AA": "API Key",
    "AIza" + "a1B2c" * 7: "Google API Key",
    "hf_" + "a1B2" * 9: "Hugging Face Token",
    "SG." + "a" * 22 + "." + "b" * 43: "SendGrid API Key",
    "npm_" + "a1B2" * 9: "NPM tokens",
    "pypi-AgEIcHlwaS5vcmc" + "a1B2" * 12: "PyPI Token",
}
PAIRS = [  # a text, and its secret
    ("password=hunter2", "hunter2"),
    ("Password: hunter2, please", "hunter2"),
    ("export DB_PASSWORD=hunter2 && run", "hunter2"),
    ("AWS_SECRET_ACCESS_KEY = wJalrXUtnFEMI/K7MDENG", "wJalrXUtnFEMI/K7MDENG"),
    ('{"password": "hunt er2", "n": 1}', "hunt er2"),
    ('{"password": "hunt\\"er2", "n": 1}', 'hunt\\"er2'),
    ("{'client_secret': 'hunt er2'}", "hunt er2"),
    (json.dumps(json.dumps({"api_key": "hunt er2"})), "hunt er2"),
    (json.dumps(json.dumps(json.dumps({"api_key": "hunt er2"}))), "hunt er2"),
    ("mysql --password hunter2 -h db", "hunter2"),
    ("mysql --db-password=hunter2 -h db", "hunter2"),
    ("https://x.test/?api_key=hunter2&page=2", "hunter2"),
    ("X-Api-Key: hunter2", "hunter2"),
    ("Authorization: Bearer hunter2", "hunter2"),
    ("curl -H 'bearer abcdefgh12345678.x'", "abcdefgh12345678.x"),
    ("postgres://user:hunter2@db/x", "hunter2"),
    ("redis://:hunter2@cache", "hunter2"),
    ('{"token": "hunter2xyz"}', "hunter2xyz"),
    (json.dumps(json.dumps({"token": "hunter2xyz"})), "hunter2xyz"),
    ("https://x.test/?token=hunter&page=2", "hunter"),
    ("token=hunter2xyz", "hunter2xyz"),
    ("deploy --token hunter2", "hunter2"),
    ('["--password", "hunter2xyz"]', "hunter2xyz"),
    ("['run', '--db-password', 'hunt er2', '--force']", "hunt er2"),
    (json.dumps(json.dumps(["--api-key", "hunter2"])), "hunter2"),
    ("curl -u user:hunter2 https://x.test", "hunter2"),
    ("curl -s --user 'user:hunter2' https://x.test", "hunter2"),
    ('["curl", "-u", "user:hunter2"]', "hunter2"),
]
FRAGMENTS_OF_OURS = [
    "curl -u ",
    "curl",
    " -u ",
    "token=",
    "?token=",
    '"token":"',
    '"token": "a1',
    "--token ",
    '"--password", ',
    "', '",
]
PLAIN = [
    "weather in Berlin", "", "The secretary reads passages about tokens: 12 of them, max_tokens=5, total_tokens: 17.",
    "max_output_tokens = 100, next_page_token: none", "sk-fading-circle-with-many-words", "https://host:8080/a@b",
    "a task-oriented risk-assessment-of-2024-and-beyond, desk-1234567890",
    '{"token": "hello"}', '{"token": " the", "logprob": -1.5}', '{"token": "12345678"}', "token=the",
    "max_token=a1b2c3d4",
    "docker run -u 1000:1000 x", '["--password", "--force"]', '["password", "hunter"]', "?token=",
    "the password", "key: value", "primary_key=7", "monkey: 1, turkey = 2",
    '{"password": null, "secret": true, "min_password": 12}', "basic understanding-of-internationalisation",
    "data:image/png;base64," + base64.b64encode(hashlib.sha512(b"x").digest()).decode(),
    "sha512-" + base64.b64encode(hashlib.sha512(b"y").digest()).decode(), "[secret: Secret Keyword] password=[hidden]",
]  # fmt: skip
IDS = st.one_of(
    st.binary(min_size=32, max_size=32).map(bytes.hex),
    st.binary(min_size=16, max_size=16).map(bytes.hex),
    st.binary(min_size=8, max_size=8).map(bytes.hex),
    st.binary(min_size=20, max_size=20).map(bytes.hex),
    st.uuids().map(str),
    st.uuids().map(lambda one: str(one).upper()),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=15,
)
FRAGMENTS = [
    "sk-", "sk-a1" * 5, "eyJ", "eyJaaaaaaaa.", "eyJaaaaaaaa=", "aws key ", "://", "://a:", "xoxb-1-", "1-", "password",
    "password=", 'password="', 'password=\\"', "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "bearer ", "bearer a.a.a",
    "npm_token", "npm_", " key", "key", "a", " ", "0123456789abcdef", "0" * 32 + "-us", "sq0csp-", "[secret: ", "\\",
    "Maaaaaaaaaaaaaaaaaaaaaaaa.aaaaaa.", "PuTTY-User-Key-File-2:", "AKIA0123456789ABCDEF ", "secret]  :", "api_key ===",
    *FRAGMENTS_OF_OURS, "--password ", "github_pat_", "SG." + "a" * 22, "AC" + "0" * 31, "NPM_TOKEN", "\u0130password:",
]  # fmt: skip


@pytest.mark.parametrize(("secret", "label"), SECRETS.items(), ids=lambda one: one[:12])
@pytest.mark.parametrize("around", ["{}", "take {} now", '{{"a": "{}"}}', "a={},", "({})"])
def test_known_forms_are_found(secret: str, label: str, around: str) -> None:
    """A secret of a known form is replaced as a whole, and nothing around it."""
    assert scanned(around.format(secret)) == around.format(f"[secret: {label}]")


@pytest.mark.parametrize(("text", "secret"), PAIRS)
def test_what_is_given_to_a_name_is_found(text: str, secret: str) -> None:
    """A value that is given to the name of a secret is replaced, and the text around it stays."""
    before, _, after = text.partition(secret)
    assert re.fullmatch(re.escape(before) + PLACE.pattern + re.escape(after), scanned(text)), scanned(text)


def test_a_key_that_is_cut_is_taken_to_its_end() -> None:
    """Of a private key without its last line nothing is kept, be it in a text or in JSON."""
    cut = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{KEY_BODY}"
    assert scanned(f"take {cut}") == "take [secret: Private Key]"
    assert scanned(json.dumps({"a": cut, "b": 1})) == '{"a": "[secret: Private Key]", "b": 1}'


@pytest.mark.parametrize("text", PLAIN)
def test_other_texts_stay(text: str) -> None:
    """A text without a secret comes back as it is."""
    assert scanned(text) == text


@given(st.lists(IDS, min_size=1, max_size=4))
def test_hashes_and_ids_stay(ids: list[str]) -> None:
    """Hashes of 64, 40, 32 and 16 hex digits and UUIDs stay, alone and in company, under keys that name no secret."""
    document = {"trace_id": ids[0], "input.sha256": ids[-1], "ids": ids, "text": json.dumps({"id": ids[0]})}
    for value in (*ids, " ".join(ids), ",".join(ids), document):
        assert redact("arguments", value) == value


def test_a_uuid_under_the_name_of_a_secret_is_one() -> None:
    """Many keys of services are UUIDs: where the name says so, the form does not matter."""
    assert redact("x", {"api_key": str(uuid.UUID(int=7))}) == {"api_key": "[secret: Secret Keyword]"}


@pytest.mark.parametrize(
    ("key", "is_secret"),
    [
        ("password", True), ("db.password", True), ("clientSecret", True), ("X-Api-Key", True), ("api_keys", True),
        ("http.request.header.authorization", True), ("AWS_SECRET_ACCESS_KEY", True), ("credentials", True),
        ("query", False), ("password_hint", False), ("gen_ai.tool.call.arguments", False), ("tokens", False),
        ("monkey", False), ("secretary", False), ("", False),
    ],
)  # fmt: skip
def test_the_key_says_what_its_text_is(key: str, is_secret: bool) -> None:  # noqa: FBT001
    """A text under the name of a secret is one as a whole, at the top, inside and in lists; an empty one is none."""
    text = "[secret: Secret Keyword]" if is_secret else "hunter2"
    assert redact(key, "hunter2") == text
    assert redact("a", [{key: ["hunter2", "", 7, None]}]) == [{key: [text, "", 7, None]}]


def test_values_are_walked() -> None:
    """Texts, keys, bytes and base64 are looked into; numbers and the like stay."""
    token = "ghp_" + "a1B2" * 9
    sealed = base64.b64encode(f"x {token}".encode()).decode()
    left = "[secret: GitHub Token]"
    value = {
        "a": [token, 1, None, True, 0.5],
        token: 1,
        "b": {"$bytes": sealed},
        "c": (token,),
        "d": f"\xff{token}".encode("latin-1"),
    }
    assert redact("arguments", value) == {
        "a": [left, 1, None, True, 0.5], left: 1, "b": {"$bytes": base64.b64encode(f"x {left}".encode()).decode()},
        "c": [left], "d": f"\xff{left}".encode("latin-1"),
    }  # fmt: skip
    assert redact("arguments", {"$bytes": "no base64!"}) == {"$bytes": "no base64!"}
    assert redact("arguments", {"$bytes": [token]}) == {"$bytes": [left]}


def test_two_keys_that_become_one_are_both_kept() -> None:
    """Keys that are secrets of one form stay apart, so that no value is lost."""
    value = {"ghp_" + "a" * 36: 1, "ghp_" + "b" * 36: 2}
    assert redact("a", value) == {"[secret: GitHub Token]": 1, "[secret: GitHub Token] 1": 2}


@given(JSON)
def test_values_without_secrets_come_back(value: Any) -> None:
    """Whatever holds no secret is the same afterwards."""
    assert repr(redact("arguments", value)) == repr(value)


@given(st.lists(st.sampled_from([*SECRETS, *(text for text, _ in PAIRS), *PLAIN, *FRAGMENTS])).map("\n".join))
def test_twice_is_once(text: str) -> None:
    """What was scanned holds nothing more to find."""
    once = scanned(text)
    assert scanned(once) == once


@given(
    st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=30).map("".join), st.sampled_from([*SECRETS])
)
def test_no_neighbour_hides_a_secret(noise: str, secret: str) -> None:
    """A secret that stands by itself is found, whatever stands before and behind it."""
    assert secret not in scanned(f"{noise}\n\n{secret}\n\n{noise}")


def test_a_long_text_is_cut_where_the_scan_ends() -> None:
    """Beyond the limit nothing is kept, and it is said how much that was; a secret on the edge is not kept in part."""
    assert scanned("a" * MOST) == "a" * MOST
    assert scanned("a" * MOST + "b") == "a" * (MOST - EDGE) + f"[not scanned: {EDGE + 1} characters]"
    token = "ghp_" + "a1B2" * 9
    for start in (MOST - EDGE - 50, MOST - EDGE - 5, MOST - EDGE, MOST - 5, MOST):
        left = scanned(" " * start + token + " " * 2 * EDGE)
        assert "ghp_" not in left
        assert re.fullmatch(rf" +({PLACE.pattern})? *\[not scanned: \d+ characters\]", left)


def test_what_can_not_be_walked_is_not_kept() -> None:
    """A value that holds itself, one nested too deep and a container that raises give a note, and nothing is raised."""
    loop: list[Any] = []
    loop.append(loop)
    deep: Any = "ghp_" + "a1B2" * 9
    for _ in range(100_000):
        deep = [deep]

    class Broken(dict[str, Any]):
        """A mapping that can't be read."""

        def items(self) -> Any:
            raise OSError

    for value, why in ((loop, "RecursionError"), (deep, "RecursionError"), (Broken(a=1, b=2), "OSError")):
        assert redact("a", value) == f"[not scanned: {why}]"
    while isinstance(deep, list):  # or the interpreter would take it apart by recursion
        deep = deep[0]


def test_five_hundred_levels_are_walked() -> None:
    """A value as deep as a document may hold is walked to its end."""
    value: Any = "ghp_" + "a1B2" * 9
    for _ in range(500):
        value = [value]
    assert "ghp_" not in json.dumps(redact("a", value))


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_no_text_takes_long(fragment: str) -> None:
    """Twice the text takes about twice the time at most, whatever a model writes: no pattern is quadratic."""

    def seconds(size: int) -> float:
        text = (fragment * (size // len(fragment) + 1))[:size]
        start = time.process_time()
        scanned(text)
        return time.process_time() - start

    assert seconds(100_000) < 10 * seconds(25_000) + 0.25


def test_threads_may_share_it() -> None:
    """Scans at the same time find what a single one finds."""
    texts = [f"{text} {number}" for number in range(50) for text, _ in PAIRS]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(scanned, texts)) == [scanned(text) for text in texts]


def test_recorded_traces_stay() -> None:
    """Nothing in the recorded traces of real agents is taken for a secret."""
    folder: Path = ROOT.parent / "shared" / "traces"
    if not folder.is_dir():
        pytest.skip("shared: no folder ../shared beside the checkout")
    changed = []
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            value = json.loads(line)
            if redact("trace", value) != value:
                changed.append(path.name)
    assert changed == []


def test_structures_are_found_as_texts_are() -> None:
    """A token under its key, and an option's value in a list of arguments."""
    assert redact("x", {"token": "hunter2xyz", "n": "hello"}) == {"token": "[secret: Secret Keyword]", "n": "hello"}
    assert redact("args", ["run", "--password", "hunter2"]) == ["run", "--password", "[secret: Secret Keyword]"]
    assert redact("args", ["--password", "--force", "--quiet", "a"]) == ["--password", "--force", "--quiet", "a"]
    assert redact("token", "the") == "the"
