"""Telling people what broke: the text of an issue, and a message to a webhook."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request

from .client import opener
from .diff import Diff
from .diff_text import as_markdown, as_text

__all__ = ["issue_text", "notify"]

_MOST_CHANGES = 200


def issue_text(diff: Diff, project: str) -> str:
    """The text of an issue for GitHub or GitLab: the title in the first line, then the body.

    It is Markdown that names of tests cannot escape from: pass it to ``gh issue create`` or
    ``glab issue create``, or to the host's API.
    """
    number = len(diff.regressions)
    head = diff.head[0]
    where = f" at {head.commit[:10]}" if head.commit else ""
    title = f"{number} regression{'' if number == 1 else 's'} in {project}{where}"
    return f"{' '.join(title.split())}\n\n{as_markdown(diff)}"


def notify(address: str, diff: Diff, project: str, link: str | None = None) -> None:
    """POST what broke to a webhook, as JSON that Slack, Mattermost and others show by its `text`.

    Redirects are not followed, and an answer other than success raises.
    """
    if urllib.parse.urlsplit(address).scheme not in ("http", "https"):
        raise ValueError(f"webhook {address!r:.80}; expected an address with http:// or https://")
    content = {
        "text": f"{project}\n{as_text(diff)}"[:3000] + (f"\n{link}" if link else ""),
        "project": project,
        "link": link,
        "regressions": len(diff.regressions),
        "changes": [
            {
                "kind": c.kind,
                "module": c.module,
                "test": c.test,
                "backend": c.backend,
                "before": c.before,
                "after": c.after,
            }
            for c in diff.regressions[:_MOST_CHANGES]
        ],
    }
    request = urllib.request.Request(
        address,
        data=json.dumps(content).encode(),
        headers={"Content-Type": "application/json"},
        method="POST",
    )
    try:
        with opener("webhook").open(request, timeout=30):
            pass
    except urllib.error.HTTPError as error:
        raise ValueError(f"the webhook answered {error.code}") from error
    except (OSError, RuntimeError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise ValueError(f"cannot reach the webhook: {reason}") from error
