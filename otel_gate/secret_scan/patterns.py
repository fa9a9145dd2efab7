"""What a secret looks like: the patterns of the library detect-secrets, and the table of those that it lacks.

Of the library only patterns and keywords are taken: none of its settings, filters and checks over the network. Left out
is what goes by entropy alone, since hashes and ids would be secrets to it, and what takes more than the time that the
length of a text asks for, since a model writes these texts: several of its patterns are quadratic or worse, and those
that matter have one of our own here. So each of ours begins where no token goes on, or repeats within bounds.
"""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, NamedTuple

from otel_gate.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

REST_OF_A_TOKEN = re.compile(r"[\w-]*", re.ASCII)

# Modules of the library, the class in each, and the group that is the secret (0: all of it, to the end of the token).
_PLUGINS = (
    ("aws", "AWSKeyDetector", 1),
    ("basic_auth", "BasicAuthDetector", 1),
    ("discord", "DiscordBotTokenDetector", 0),
    ("github_token", "GitHubTokenDetector", 0),
    ("mailchimp", "MailchimpDetector", 0),
    ("npm", "NpmDetector", 1),
    ("sendgrid", "SendGridDetector", 0),
    ("slack", "SlackDetector", 0),
    ("square_oauth", "SquareOAuthDetector", 0),
    ("stripe", "StripeDetector", 0),
    ("twilio", "TwilioKeyDetector", 0),
)
SHAPE = r"(?=[A-Za-z_.~+/-]{0,200}\d)(?=[\d_.~+/-]{0,200}[A-Za-z])[\w.~+/=-]{8,4096}"
"""What is taken for a token under the name ``token``, which also words of a model and counts have."""
_USER = r"[^\n|;]{0,300}?[\s\"'](?:-u|--user|--proxy-user)[\s=\\\"',]{1,8}"
_KIND = "[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?"
_OURS = (
    ("Private Key", rf"-----BEGIN {_KIND}-----(?:(?!-----)[^\"'`]){{0,20000}}(?:-----END {_KIND}-----)?", 0),
    ("Private Key", r"PuTTY-User-Key-File-\d:[^\"'`]{0,20000}", 0),
    ("JSON Web Token", r"eyJ(?<![\w-]eyJ)[\w-]{8,}={0,2}\.[\w-]{8,}={0,2}(?:\.[\w=-]*)?", 0),
    ("API Key", r"sk-(?<![\w-]sk-)(?=[A-Za-z_-]{0,200}\d)[\w-]{20,}", 0),
    ("GitHub Token", r"github_pat_(?<![\w-]github_pat_)\w{22,}", 0),
    ("GitLab Token", r"gl(?<![\w-]gl)(?:pat|dt|ptt|rt|cbt|ft|soat|agent)-[\w-]{20,}", 0),
    ("Google API Key", r"AIza(?<![\w-]AIza)[\w-]{35}", 0),
    ("Google OAuth Token", r"ya29\.(?<![\w-]ya29\.)[\w-]{20,}", 0),
    ("Hugging Face Token", r"hf_(?<![\w-]hf_)[A-Za-z0-9]{30,}", 0),
    ("PyPI Token", r"pypi-AgE(?<![\w-]pypi-AgE)[\w-]{20,}", 0),
    ("Slack Token", r"x(?<![\w-]x)(?:app-\d-|ox[a-z][.-])[\w-]{20,}", 0),
    ("Stripe Access Key", r"[prs]k_(?:live|test)_[A-Za-z0-9]{16,}", 0),
    ("Stripe Webhook Secret", r"whsec_(?<![\w-]whsec_)[A-Za-z0-9+/]{16,}", 0),
    ("Bearer Token", r"(?i:\b(?:bearer|basic))\s{1,3}((?=[A-Za-z._~+/-]{0,200}\d)[\w.~+/-]{16,}={0,2})", 1),
    ("Secret Keyword", rf"[\"']token\\{{0,8}}[\"']\s{{0,5}}:\s{{0,5}}\\{{0,8}}[\"']({SHAPE})", 1),
    ("Secret Keyword", rf"(?<![\w.-])token=({SHAPE})", 1),
    ("Secret Keyword", r"[?&]token=(?!\[)([^\s&#;\"'`\\]{6,4096})", 1),
    ("Secret Keyword", r"--token[= ]\s{0,3}(?![-\[])([^\s\"'`\\]{4,4096})", 1),
    ("Basic Auth Credentials", rf"\bcurl\b{_USER}[^\s:\"'`\\]{{1,200}}:(?!\[)([^\s\"'`\\,]{{1,200}})", 1),
    ("Basic Auth Credentials", r"://:([^\s@/\"'`]{1,200})@", 1),
)  # fmt: skip


class Pattern(NamedTuple):
    """What a secret is called, the expression that finds it, and the group that is the secret, when it took part."""

    label: str
    expression: re.Pattern[str]
    group: int


def plugin(name: str) -> ModuleType:
    """Import a plugin of the library.

    Raises:
        SettingsError: the library is not installed.
    """
    try:
        return importlib.import_module(f"detect_secrets.plugins.{name}")
    except ImportError as error:
        got, try_ = f"{type(error).__name__}: {error}", "pip install 'otel-gate[secrets]'"
        raise SettingsError("otel_gate.secret_scan", "the library detect-secrets", got, try_) from error


def _patterns() -> Iterator[Pattern]:
    for module, name, group in _PLUGINS:
        detector = getattr(plugin(module), name)
        yield from (
            Pattern(detector.secret_type, one, min(group, one.groups))
            for one in detector.denylist
            if ".{" not in one.pattern  # a wildcard in the middle: seconds on a text that was made for it
        )
    for label, text, group in _OURS:
        yield Pattern(label, re.compile(text, re.ASCII), group)


PATTERNS = tuple(_patterns())
