"""The faces: what they weigh, what their style sheet says."""

from bookcheck.node.packages import ensure_packages
from bookcheck.paths import NODE_ROOM
from bookcheck.site.faces import FACES, LARGEST, package_of, rule_of


def weight(faces):
    return sum((package_of(face) / "files" / face.file).stat().st_size for face in faces)


def test_all_faces_together_are_light():
    ensure_packages(NODE_ROOM)
    assert weight(FACES) <= LARGEST
    # One more face of the text would be too much, so the bound is felt.
    bold_italic = FACES[1]._replace(weight=600)
    assert weight([*FACES, bold_italic]) > LARGEST


def test_a_rule_swaps_and_names_its_letters():
    ensure_packages(NODE_ROOM)
    rule = rule_of(FACES[3])
    assert "font-display: swap" in rule
    assert "url(source-serif-4-greek-400-normal.woff2)" in rule
    assert "U+0370" in rule
