"""Rules over buckets: globs that keep to their folder, the first rule that fits, and errors that say what to write."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.ingest.buckets.rules import BucketRule, BucketRules


@pytest.mark.parametrize(("glob", "taken", "left"), [
    ("*", ["a", "a.txt", "é"], ["a/b"]),
    ("*.pdf", ["a.pdf", ".pdf", "a.b.pdf"], ["a.PDF", "a/b.pdf", "a.pdfx", "a.pdf\n"]),
    ("a/*.pdf", ["a/b.pdf"], ["a/b/c.pdf", "b.pdf"]),
    ("**", ["a", "a/b/c"], []),
    ("**/*.pdf", ["a.pdf", "a/b.pdf", "a/b/c.pdf"], ["a.txt", "a.pdf/b"]),
    ("a/**", ["a/b", "a/b/c"], ["a", "ab/c", "b/a/c"]),
    ("a/**/z", ["a/z", "a/b/z", "a/b/c/z"], ["az", "a/bz", "a/z/b"]),
    ("**/a/**", ["a/b", "x/y/a/b/c"], ["xa/b", "a"]),
    ("**/**/a", ["a", "b/a", "b/c/a"], ["ba"]),
    ("a**b", ["ab", "axb", "a/x/b"], ["a", "abc"]),
    ("a***", ["a", "a/b"], ["b"]),
    ("a**/b", ["a/b", "ax/b", "a/x/b"], ["ab"]),
    ("?.txt", ["a.txt", "é.txt"], [".txt", "ab.txt", "/.txt"]),
    ("[ab].txt", ["a.txt", "b.txt"], ["c.txt", "ab.txt"]),
    ("[a-c]x", ["ax", "bx"], ["dx", "-x"]),
    ("[!ab]x", ["cx", "!x"], ["ax", "/x"]),
    ("x[!a]y", ["xby"], ["x/y", "xay"]),
    ("x[+-0]y", ["x+y", "x,y"], ["x/y"]),
    ("[]a]", ["]", "a"], ["[", "b"]),
    ("[!]a]", ["[", "b"], ["]", "a"]),
    ("[[]a]", ["[a]"], ["a]"]),
    ("[^a]", ["^", "a"], ["b"]),
    ("[a-]", ["a", "-"], ["b"]),
    ("[--.]", ["-", "."], ["a"]),
    (r"[\d]", ["\\", "d"], ["1"]),
    ("[a&&b]", ["a", "&", "b"], ["c"]),
    ("[a||b~~c]", ["a", "|", "~", "c"], ["d"]),
    (r"a\*", ["a\\b"], ["a*"]),
    ("a.b+(c)|^$", ["a.b+(c)|^$"], ["axb+(c)|^$"]),
    ("é*", ["été"], ["e", "É"]),
    ("#{x}~&", ["#{x}~&"], ["x"]),
    ("a b", ["a b"], ["ab"]),
])
def test_globs(glob: str, taken: list[str], left: list[str]) -> None:
    rule = BucketRule(bucket="b", include=(glob,))
    assert [key for key in taken if not rule.takes(key)] == []
    assert [key for key in left if rule.takes(key)] == []
    excluding = BucketRule(bucket="b", exclude=(glob,))
    assert [key for key in taken if excluding.takes(key)] == []
    assert [key for key in left if not excluding.takes(key)] == []


def test_globs_are_over_the_key_after_the_prefix() -> None:
    rule = BucketRule(bucket="b", prefix="in/", include=("*.pdf", "**/*.md"), exclude=("**/draft*", "old/**"))
    assert [key for key in (
        "in/a.pdf", "in/x/a.pdf", "in/x/y/a.md", "in/draft.pdf", "in/x/draft.md", "in/old/a.md", "a.pdf", "in/", "in",
        "in/x.md/",
    ) if rule.takes(key)] == ["in/a.pdf", "in/x/y/a.md"]


def test_a_rule_takes_everything_but_folders_by_default() -> None:
    rule = BucketRule(bucket="b")
    assert rule.takes("a")
    assert rule.takes("a/b c+d.é")
    assert not rule.takes("a/")


def test_the_first_rule_whose_prefix_fits_decides() -> None:
    contracts = BucketRule(bucket="b", prefix="legal/contracts/", tenant="acme")
    legal = BucketRule(bucket="b", prefix="legal/", include=("*.pdf",))
    rest, other = BucketRule(bucket="b"), BucketRule(bucket="c", prefix="x/")
    rules = BucketRules((contracts, legal, rest, other))
    assert rules.of("b", "legal/contracts/a.txt") is contracts
    assert rules.of("b", "legal/a.pdf") is legal
    assert rules.of("b", "legal/a.txt") is None  # although the last rule would
    assert rules.of("b", "a.txt") is rest
    assert rules.of("b", "folder/") is None
    assert rules.of("c", "a") is None
    assert rules.of("d", "a") is None


def test_the_default_is_one_bucket_whole() -> None:
    rules = BucketRules.of_bucket("documents")
    assert rules.rules == (BucketRule(bucket="documents", tenant="default", collection="default", lane="bulk"),)


def written(folder: Path, text: str) -> Path:
    path = folder / "rules.toml"
    path.write_text(text, "utf-8")
    return path


def test_rules_are_read_from_a_file(tmp_path: Path) -> None:
    path = written(tmp_path, """
        [[rule]]
        bucket = "documents"
        prefix = "été/"
        tenant = "acme"
        collection = "Notes de service"
        lane = "interactive"
        include = ["**/*.pdf", "*.md"]
        exclude = ["**/~*"]
        size_bytes_max = 1_000_000
        category = "rh"

        [[rule]]
        bucket = "documents"
    """)
    assert BucketRules.read(path).rules == (
        BucketRule(
            bucket="documents", prefix="été/", tenant="acme", collection="Notes de service", lane="interactive",
            include=("**/*.pdf", "*.md"), exclude=("**/~*",), size_bytes_max=1_000_000, category="rh",
        ),
        BucketRule(bucket="documents"),
    )


@pytest.mark.parametrize(("text", "says"), [
    ("", "there is no rule.*write"),
    ("rule = 3", "rule is no list of tables; begin each rule with"),
    ("[rule]", "rule is no list of tables"),
    ("bucket = 'x'", "'bucket' is unknown; rules are tables under"),
    ("[[rules]]\nbucket = 'x'", "'rules' is unknown"),
    ("[[rule", "are not TOML"),
    ("[[rule]]", "rule 1: bucket is missing; name the bucket"),
    ("[[rule]]\nbucket = ''", "rule 1: bucket is empty"),
    ("[[rule]]\nbucket = 3", "rule 1: bucket is 3; give it a text in quotes"),
    ("[[rule]]\nbucket = 'x'\n[[rule]]\nbucket = 'y'\npreffix = 'z'",
     "rule 2: 'preffix' is unknown; the fields are bucket, category, collection"),
    ("[[rule]]\nbucket = 'x'\ntenant = 'Ä'", "rule 1: tenant 'Ä' is not 1 to 40 characters"),
    ("[[rule]]\nbucket = 'x'\nlane = 'fast'", "rule 1: lane 'fast' is none of 'interactive', 'bulk'"),
    ("[[rule]]\nbucket = 'x'\nlane = ''", "rule 1: lane '' is none of"),
    ("[[rule]]\nbucket = 'x'\ncollection = ''", "rule 1: collection '' has 0 characters; give it 1 to 100"),
    (f"[[rule]]\nbucket = 'x'\ncollection = '{'a' * 101}'", "has 101 characters"),
    (f"[[rule]]\nbucket = 'x'\ncategory = '{'a' * 1025}'", "category has 1025 characters"),
    ("[[rule]]\nbucket = 'x'\nsize_bytes_max = -1", "size_bytes_max is -1; give it a number of bytes, or 0"),
    ("[[rule]]\nbucket = 'x'\nsize_bytes_max = true", "size_bytes_max is True; give it a whole number"),
    ("[[rule]]\nbucket = 'x'\nsize_bytes_max = '1 MB'", "size_bytes_max is '1 MB'"),
    ("[[rule]]\nbucket = 'x'\ninclude = '*.pdf'", r"include is '\*.pdf'; give it a list of globs"),
    ("[[rule]]\nbucket = 'x'\nexclude = [3]", r"exclude is \[3\]; give it a list of globs"),
    ("[[rule]]\nbucket = 'x'\ninclude = ['']", "include holds a glob of 0 characters"),
    ("[[rule]]\nbucket = 'x'\ninclude = ['a[b']", r"include 'a\[b' is no glob: the class.*has no end; write"),
    ("[[rule]]\nbucket = 'x'\ninclude = ['[z-a]']", r"include '\[z-a\]' is no glob: bad character range"),
    ("[[rule]]\nbucket = 'x'\n[[rule]]\nbucket = 'x'\nprefix = 'a/'",
     "rule 2: prefix 'a/' of bucket 'x' is never asked, since rule 1.*put the longer prefix first"),
])
def test_errors_name_file_rule_field_and_way_out(tmp_path: Path, text: str, says: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InvalidArgument, match=f"^{re.escape(str(path))}: .*{says}"):
        BucketRules.read(path)


def test_a_file_that_is_absent_or_no_text_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="cannot be read: No such file"):
        BucketRules.read(tmp_path / "absent.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidArgument, match="are not TOML"):
        BucketRules.read(tmp_path / "binary.toml")
