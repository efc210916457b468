"""Watched buckets that could not be what their rules say are refused at the start."""

from __future__ import annotations

import pytest

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.ingest.buckets.rules import BucketRule, BucketRules
from sourcier.services.ingest.buckets.sources import check_watched

pytestmark = pytest.mark.unit


def check(bucket: str, *, prefix: str = "", source_url: str = "", own_url: str = "http://store:9000") -> None:
    rules = BucketRules((BucketRule(bucket=bucket, prefix=prefix),))
    check_watched(rules, source_url=source_url, own_url=own_url, own_bucket="sourcier")


def test_a_store_that_names_its_bucket_is_not_watched_for_another_one() -> None:
    with pytest.raises(InvalidArgument, match="'company' is watched, but SOURCIER_S3_URL is s3://sourcier") as refused:
        check("company", own_url="s3://sourcier")
    assert "SOURCIER_INGEST_SOURCE_S3_URL" in refused.value.message
    with pytest.raises(InvalidArgument, match="SOURCIER_INGEST_SOURCE_S3_URL is gs://reports"):
        check("company", source_url="gs://reports", own_url="s3://sourcier")
    check("company", source_url="s3://company", own_url="s3://sourcier")


def test_a_folder_is_one_bucket_whatever_it_is_called() -> None:
    rules = BucketRules((BucketRule(bucket="one"), BucketRule(bucket="other")))
    with pytest.raises(InvalidArgument, match="'other' is watched"):
        check_watched(rules, source_url="file:///srv/documents", own_url="s3://sourcier", own_bucket="sourcier")
    with pytest.raises(InvalidArgument, match="without an end"):
        check("company", own_url="file:///srv/sourcier")


@pytest.mark.parametrize("prefix", ["", "doc", "documents/", "documents/default/", "artefacts/"])
@pytest.mark.parametrize("url", ["http://store:9000", "s3://sourcier"])
def test_the_services_own_files_are_not_documents(prefix: str, url: str) -> None:
    with pytest.raises(InvalidArgument, match="without an end"):
        check("sourcier", prefix=prefix, own_url=url)


@pytest.mark.parametrize(("source_url", "own_url"), [
    ("http://store:9000/", "http://store:9000"), ("http://store:9000", "HTTP://Store:9000//"),
    ("https://store:443", "https://store/"), ("s3://sourcier/", "s3://sourcier"), ("file:///srv/x", "file:///srv/x/"),
])
def test_the_services_own_store_is_known_however_it_is_written(source_url: str, own_url: str) -> None:
    with pytest.raises(InvalidArgument, match="without an end"):
        check("sourcier", source_url=source_url, own_url=own_url)


@pytest.mark.parametrize(("source_url", "own_url"), [
    ("http://store:9000", "https://store:9000"), ("http://store:8080", "http://store:80"),
    ("http://store/a", "http://store/A"), ("file:///srv/x", "file:///srv/X"),
])
def test_another_store_is_not_taken_for_the_services_own(source_url: str, own_url: str) -> None:
    check("sourcier", source_url=source_url, own_url=own_url)


def test_other_buckets_and_other_prefixes_are_watched() -> None:
    check("company")
    check("sourcier", prefix="inbox/")
    check("sourcier", source_url="http://elsewhere:9000")
    check("folder", source_url="file:///srv/documents", own_url="s3://sourcier")
