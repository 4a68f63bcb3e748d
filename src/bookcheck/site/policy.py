"""A Content-Security-Policy that every page carries, the same on all: nothing runs or loads that
the site does not bring itself, and no script stands inside a page.

What the theme writes into its pages (small scripts, a style sheet, a click handler) moves into
files of the site. `python -m bookcheck.site.policy _build/html` prints one line for each place that
the policy would stop, and the header for those who host the site.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path

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
# What the theme writes into its pages, and what stands there instead.
MOVED = (
    # The reader's choice of colours, early.js.
    (
        r'<script data-cfasync="false">\s*document\.documentElement\.dataset\.mode = .*?</script>',
        '<script src="{root}_static/early.js"></script>',
    ),
    # book.css hides these where no script has said which mode it is.
    (r"<noscript>\s*<style>\s*\.pst-js-only \{[^}]*\}\s*</style>\s*</noscript>", ""),
    # Only a menu of versions reads the page's name, and the book has one version.
    (r"<script>DOCUMENTATION_OPTIONS\.pagename = '[^']*';</script>", ""),
    # False is what an option is that nobody sets.
    (r"<script>DOCUMENTATION_OPTIONS\.search_as_you_type = false;</script>", ""),
    # book.js sets the focus of the search page, and prints.
    (r"<script>\s*// Activate the search field on page load.*?</script>", ""),
    (r' onclick="window\.print\(\)"', " data-print"),
)


def secure(html: str) -> str:
    """Return a page with the policy in it and without what the policy forbids."""
    root = re.search(r'<html[^>]* data-content_root="([^"]*)"', html)
    for pattern, replacement in MOVED:
        html = re.sub(
            pattern,
            replacement.replace("{root}", root[1] if root else ""),
            html,
            flags=re.DOTALL,
        )
    # Nothing before it may load, or the policy comes too late.
    return html.replace(CHARSET, f"{CHARSET}\n    {META}", 1)


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


def policy_faults(site: Path) -> Iterator[str]:
    """Yield one line for each place of the built site that the policy would stop."""
    if not (site / "index.html").is_file():
        raise FileNotFoundError(f"there is no site in {site}: build it first (make book)")
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site)
        if not name.parts[0].startswith("_"):
            for fault in stopped_by_policy(path.read_text(encoding="utf8")):
                yield f"{name.as_posix()}: {fault}"


def main() -> int:
    """Check the site named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    faults = list(policy_faults(parser.parse_args().site))
    print("\n".join([*faults, f"{len(faults)} places against the policy", HEADER]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
