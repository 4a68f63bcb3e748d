"""Code with few elements, and none of its letters lost."""

import re

from bookcheck.site.code_spans import lighter_code

CODE = (
    '<pre tabindex="0"><span></span><span class="n">scores</span> <span class="o">=</span> '
    '<span class="n">product</span><span class="p">(</span><span class="n">q</span>'
    '<span class="p">)</span>  <span class="c1"># (N, N)</span>\n</pre>'
)


def letters(html):
    return re.sub(r"<[^>]*>", "", html)


def test_only_what_says_something_stays():
    light = lighter_code(CODE)
    assert light == (
        '<pre tabindex="0"><span class="is-s">scores</span> = product(<span class="is-q">q</span>)'
        '  <span class="c1"># (N, N)</span>\n</pre>'
    )
    assert letters(light) == letters(CODE)


def test_nothing_outside_code_is_touched():
    page = '<p><span class="n">q</span></p>'
    assert lighter_code(page) == page


def test_a_span_with_an_anchor_stays():
    page = '<pre><span id="L3"></span><span class="n">x</span></pre>'
    assert lighter_code(page) == '<pre><span id="L3"></span>x</pre>'
