"""A Content-Security-Policy that every page carries, the same on all: nothing runs or loads that
the site does not bring itself, and no script stands inside a page.

The build warns of what the policy would stop; `bookcheck.gates` looks again at the built pages.
"""

import re
from collections.abc import Iterator
from html import escape

# "file:" lets the pages work from disk, where browsers disagree on what 'self' is. No page of
# a web site may load such an address, so nothing is given away.
OWN = "'self' file:"
DIRECTIVES = {
    "default-src": OWN,
    "script-src": OWN,
    # Formulas and figures place their parts by style attributes. Browsers that know the two
    # finer rules allow just these, older ones read the first.
    "style-src": f"{OWN} 'unsafe-inline'",
    "style-src-elem": OWN,
    "style-src-attr": "'unsafe-inline'",
    "img-src": f"{OWN} data:",
    "object-src": "'none'",
    "frame-src": "'none'",
    "base-uri": "'none'",
    "form-action": OWN,
}
POLICY = "; ".join(f"{name} {value}" for name, value in DIRECTIVES.items())
# A header can forbid others to frame the site; a meta element cannot.
HEADER = f"Content-Security-Policy: {POLICY.replace(' file:', '')}; frame-ancestors 'none'"
META = f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY, quote=False)}" />'

CHARSET = '<meta charset="utf-8" />'
TAG = re.compile(r"""<([a-zA-Z][\w-]*)((?:[^>"']|"[^"]*"|'[^']*')*)>""")
ATTRIBUTE = re.compile(r"""\s([\w:-]+)(?:\s*=\s*(?:"([^"]*)"|'?([^'\s>]*)'?))?""")
COMMENT = re.compile("<!--.*?-->", re.DOTALL)
LOADING = {"img", "link", "script", "style"}
FORBIDDEN = {"base", "embed", "iframe", "object"}
WATCHED = {"meta", *LOADING, *FORBIDDEN}
SCRIPT_TYPES = {"", "module", "text/javascript", "application/javascript", "importmap"}


def _tags(html: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the tags that a policy is about, each with its attributes."""
    for found in TAG.finditer(COMMENT.sub("", html)):
        name, rest = found[1].lower(), found[2]
        if name in WATCHED or " on" in rest.lower() or "javascript:" in rest.lower():
            pairs = ATTRIBUTE.findall(rest)
            yield name, {key.lower(): (quoted or bare).strip() for key, quoted, bare in pairs}


def stopped_by_policy(html: str) -> list[str]:
    """Return what the policy would stop in a page, or that it is not there."""
    faults = []
    policies: list[str] = []
    for tag, values in _tags(html):
        if tag == "meta" and values.get("http-equiv", "").lower() == "content-security-policy":
            policies.append(values.get("content", ""))
        if tag in LOADING and not policies:
            faults.append(f"<{tag}> stands before the policy")
        if tag == "script" and "src" not in values and values.get("type", "") in SCRIPT_TYPES:
            faults.append("a <script> stands in the page: put it into a file")
        if tag == "style":
            faults.append("a <style> stands in the page: put it into a file")
        if tag in FORBIDDEN:
            faults.append(f"<{tag}> is not allowed")
        for name, value in values.items():
            if name.startswith("on"):
                faults.append(f'{name}="{value}" stands in <{tag}>: listen in a script')
            if value.lower().startswith("javascript:"):
                faults.append(f'<{tag} {name}="{value}"> is code in an address')
    if policies != [POLICY]:
        faults.append(f"the page must carry the book's policy once, found {policies}")
    return faults
