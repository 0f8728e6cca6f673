"""Keys and tokens that tell by themselves what they are: by a prefix and a length, as their issuer makes them.

Owns their patterns, and what a shape is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from nanomem_tui.memory.secret_checks import is_random, is_real


class Shape(NamedTuple):
    """A kind of secret: words of which a text with it has one, and a pattern whose group `v`, or all, is the value.

    `unless`: what right before it says that it is something else. A kind may have several shapes.
    """

    kind: str
    words: str
    pattern: str
    valid: Callable[[str], bool] | None = None
    guessable: bool = False
    unless: str = ""


TOKENS: tuple[Shape, ...] = (
    Shape(
        "private key",
        "PRIVATE KEY",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:[^-]|-(?!----)){0,20000}-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s]{40,20000})?",
    ),
    Shape("age key", "AGE-SECRET-KEY-", r"\bAGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{40,}\b"),
    Shape("Anthropic key", "sk-ant-", r"\bsk-ant-[\w-]{20,}"),
    Shape("OpenRouter key", "sk-or-", r"\bsk-or-(?:v1-)?[\w-]{20,}"),
    Shape("OpenAI key", "sk-", r"\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}", is_random),
    Shape("AWS access key", "AKIA|ASIA|AROA|AIDA", r"\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}\b", is_real),
    Shape(
        "AWS secret key",
        "aws|AWS|secret|Secret|SECRET",
        r"(?i:aws.{0,20}|secret[_ ]?(?:access[_ ]?)?key)[\"'\s:=是为：]{1,8}(?P<v>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        is_random,
    ),
    Shape("GitHub token", "gh|github_pat_", r"\b(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{40,255})\b"),
    Shape("GitLab token", "gl", r"\bgl(?:pat|ptt|dt|rt|cbt|soat|agent)-[\w-]{20,}"),
    Shape("Slack token", "xox|xapp-", r"\b(?:xox[abeoprs]-[\w-]{10,}|xapp-\d-[\w-]{10,})"),
    Shape("Slack webhook", "hooks.slack.com", r"https://hooks\.slack\.com/(?:services|workflows)/[\w/+-]{20,}"),
    Shape(
        "Stripe key", "_live_|_test_|whsec_", r"\b(?:[srp]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9]{24,})\b"
    ),
    Shape("Google API key", "AIza", r"\bAIza[\w-]{35}(?![\w-])"),
    Shape("Google OAuth secret", "GOCSPX-|ya29.", r"\b(?:GOCSPX-[\w-]{20,}|ya29\.[\w-]{20,})"),
    Shape("Hugging Face token", "hf_", r"\bhf_[A-Za-z0-9]{30,}\b"),
    Shape("Vault token", "hvs.|hvb.|hvr.", r"\bhv[sbr]\.[A-Za-z0-9_-]{20,}"),
    Shape("npm token", "npm_", r"\bnpm_[A-Za-z0-9]{36}\b"),
    Shape("PyPI token", "pypi-", r"\bpypi-[\w-]{50,}"),
    Shape("SendGrid key", "SG.", r"\bSG\.[\w-]{16,}\.[\w-]{32,}"),
    Shape("Twilio key", "SK|AC", r"\b(?:SK|AC)[0-9a-f]{32}\b"),
    Shape("DigitalOcean token", "do", r"\bdo[opr]_v1_[0-9a-f]{64}\b"),
    Shape("Shopify token", "shp", r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b"),
    Shape("Groq or xAI key", "gsk_|xai-", r"\b(?:gsk_[A-Za-z0-9]{40,}|xai-[A-Za-z0-9]{60,})\b"),
    Shape("Docker token", "dckr_", r"\bdckr_[po]at_[\w-]{20,}"),
    Shape(
        "Discord webhook",
        "/api/webhooks/",
        r"https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/\d{15,21}/[\w-]{40,}",
    ),
    Shape("Linear key", "lin_", r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,}\b"),
    Shape("Notion token", "ntn_", r"\bntn_[A-Za-z0-9]{40,}\b"),
    Shape("Figma token", "figd_", r"\bfigd_[\w-]{32,}"),
    Shape("Atlassian token", "ATATT3", r"\bATATT3[\w=-]{40,}"),
    Shape("Telegram bot token", ":AA", r"\b\d{8,10}:AA[\w-]{32,34}(?![\w-])"),
    Shape("Discord bot token", ".", r"\b[MNO][A-Za-z\d]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])"),
    Shape("JSON web token", "eyJ", r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{16,}"),
    Shape(
        "Azure storage key",
        "AccountKey|SharedAccessKey",
        r"\b(?:AccountKey|SharedAccessKey)=(?P<v>[A-Za-z0-9+/]{40,88}={0,2})",
    ),
)
