"""Bucket notifications of every sender, told apart and read alike; the senders' own samples, and keys that hurt."""

from __future__ import annotations

import base64
import json
from typing import Any, Literal
from urllib.parse import quote, quote_plus

import pytest

from eval import shared_sets
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.ingest.buckets import notifications
from sourcier.services.ingest.buckets.notifications import ObjectEvent, read_notification
from tests.needed_sets import needs

SAMPLES = shared_sets.ROOT / shared_sets.NOTIFICATIONS
AWS, POWERTOOLS = "aws-lambda-go/events/testdata", "powertools/tests/events"
LAMBDA_BUCKET, HASH = "lambda-artifacts-deafc19498e3f2df", "b21b84d653bb07b05b1e6b33684dc11b"
KEYS = [
    "plain.txt", "with space.txt", "a+b.txt", "été/Élève.pdf", "50%.txt", "50%25 +%41.txt", "a/b c/d+e.md",
    "quote\"s&=?#;:@.txt", "東京.docx", "😀.txt", "tab\tline\n.txt", ".hidden", "folder/",
]


def created(bucket: str, key: str, **facts: Any) -> ObjectEvent:
    return ObjectEvent(kind="created", bucket=bucket, key=key, **facts)


def removed(bucket: str, key: str, **facts: Any) -> ObjectEvent:
    return ObjectEvent(kind="removed", bucket=bucket, key=key, **facts)


HAPPY = created("sourcebucket", "Happy Face.jpg", etag="d41d8cd98f00b204e9800998ecf8427e", size_bytes=1024,
                version_id="version")  # its sequencer, "Happy Sequencer", is not hexadecimal
ARTIFACT = created(LAMBDA_BUCKET, HASH, etag=HASH, size_bytes=1305107, sequencer="0C0F6F405D6ED209E1")
NOTHING: tuple[ObjectEvent, ...] = ()
NO_NOTIFICATION = None

SAMPLE_EVENTS: dict[str, tuple[ObjectEvent, ...] | None] = {
    f"{AWS}/s3-event.json": (HAPPY,),
    f"{AWS}/s3-event-with-decoded.json": (HAPPY,),
    f"{AWS}/s3-glacier-event.json": NOTHING,
    f"{AWS}/s3-intelligenttier-event.json": NOTHING,
    f"{AWS}/s3-lifecycle-event.json": NOTHING,
    f"{AWS}/s3-replication-event.json": NOTHING,
    f"{AWS}/s3-restore-event.json": NOTHING,
    f"{AWS}/s3-batch-job-event-request-1.0.json": NOTHING,
    f"{AWS}/s3-batch-job-event-request-2.0.json": NOTHING,
    f"{AWS}/s3-batch-job-event-response.json": NOTHING,
    f"{AWS}/s3-object-lambda-event-get-object-assumed-role.json": NOTHING,
    f"{AWS}/s3-object-lambda-event-get-object-iam.json": NOTHING,
    f"{AWS}/s3-object-lambda-event-head-object-iam.json": NOTHING,
    f"{AWS}/s3-object-lambda-event-list-objects-iam.json": NOTHING,
    f"{AWS}/s3-object-lambda-event-list-objects-v2-iam.json": NOTHING,
    f"{AWS}/ses-s3-event.json": NO_NOTIFICATION,
    "from-docs/ceph-rgw-put.json": (created(
        "mybucket1", "myimage1.jpg", etag="37b51d194a7513e45b56f6524f2d51f2", size_bytes=1024,
        sequencer="F7E6D75DC742D108",
    ),),
    "from-docs/cloudevent-s3-api-evangelist.json": (created(
        "event-archive", "raw/2026-05-22/orders-014.ndjson", etag="9b1a4e1e23eebc1d1ff4f0a3a40fdbe7",
        size_bytes=18324192, version_id="tWf6T9z6dHc8z8Z4f3D5x",
    ),),
    "from-docs/minio-2025.json": (created(
        "test-bucket", "image.jpg", etag="eb52f8e46f60a27a8a1a704e25757f30", size_bytes=84452,
        sequencer="182178E8B3728CAC",
    ),),
    "from-docs/minio-nats-2016.json": (created(
        "images", "myphoto.jpg", etag="1d97bf45ecb37f7a7b699418070df08f", size_bytes=56060,
        sequencer="147CCD1AE054BFD0",
    ),),
    "from-docs/minio-nats-streaming-2017.json": (created(
        "images", "myphoto.jpg", etag="f1671feacb8bbf7b0397c6e9364e8c92", size_bytes=248682, version_id="1",
        sequencer="14CF20BD1EFD5B93",
    ),),
    "from-docs/minio-webhook-2019.json": (created(
        "anze", "hello.jpg", etag="5fc7298143efe1276d39a3466d4e255f-1", size_bytes=224662, version_id="1",
        sequencer="15CFEDF8D5304D1A",
    ),),
    f"{POWERTOOLS}/s3BatchOperationEventSchemaV1.json": NOTHING,
    f"{POWERTOOLS}/s3BatchOperationEventSchemaV2.json": NOTHING,
    f"{POWERTOOLS}/s3Event.json": (ARTIFACT,),
    f"{POWERTOOLS}/s3EventDecodedKey.json": (HAPPY,),
    f"{POWERTOOLS}/s3EventDeleteObject.json": (removed(LAMBDA_BUCKET, HASH, sequencer="0C0F6F405D6ED209E1"),),
    # Its name says that the object was put, whatever its data say of a restoration besides.
    f"{POWERTOOLS}/s3EventGlacier.json": (ARTIFACT,),
    f"{POWERTOOLS}/s3EventBridgeNotificationObjectCreatedEvent.json": (created(
        "example-bucket", "IMG_m7fzo3.jpg", etag="4e68adba0abe2dc8653dc3354e14c01d", size_bytes=184662,
        sequencer="006408CAD69598B05E",
    ),),
    f"{POWERTOOLS}/s3EventBridgeNotificationObjectDeletedEvent.json": (
        removed("example-bucket", "IMG_m7fzo3.jpg", sequencer="006408CAD69598B05E"),
    ),
    f"{POWERTOOLS}/s3EventBridgeNotificationObjectExpiredEvent.json": (removed(
        "example-bucket", "IMG_m7fzo3.jpg", etag="4e68adba0abe2dc8653dc3354e14c01d", size_bytes=184662,
        sequencer="006408CAD69598B05E",
    ),),
    f"{POWERTOOLS}/s3EventBridgeNotificationObjectRestoreCompletedEvent.json": NOTHING,
    f"{POWERTOOLS}/s3ObjectEventIAMUser.json": NOTHING,
    f"{POWERTOOLS}/s3ObjectEventTempCredentials.json": NOTHING,
    f"{POWERTOOLS}/s3SqsEvent.json": (created(
        "xxx", "test.pdf", etag="2e3ad1e983318bbd8e73b080e2997980", size_bytes=104681,
        version_id="yd3d4HaWOT2zguDLvIQLU6ptDTwKBnQV", sequencer="00643717F9F8B85354",
    ),),
}

requires_samples = needs(shared_sets.NOTIFICATIONS)


@requires_samples
@pytest.mark.parametrize(("path", "expected"), SAMPLE_EVENTS.items(), ids=SAMPLE_EVENTS.keys())
def test_a_sample_reads_as_expected(path: str, expected: tuple[ObjectEvent, ...] | None) -> None:
    body = (SAMPLES / path).read_bytes()
    if expected is None:
        with pytest.raises(InvalidArgument, match="no bucket notification"):
            read_notification(body)
    else:
        assert read_notification(body) == expected


@requires_samples
def test_every_sample_has_its_row() -> None:
    assert {str(path.relative_to(SAMPLES)) for path in SAMPLES.rglob("*.json")} == set(SAMPLE_EVENTS)


def read(document: object) -> tuple[ObjectEvent, ...]:
    return read_notification(json.dumps(document).encode())


def record(key: object, name: str = "ObjectCreated:Put", *, source: str = "aws:s3", **described: Any) -> dict[str, Any]:
    return {
        "eventSource": source, "eventName": name,
        "s3": {"bucket": {"name": "documents"}, "object": {"key": key, **described}},
    }


def records(*entries: object) -> dict[str, Any]:
    return {"Records": list(entries)}


def sns(document: object) -> dict[str, Any]:
    return {
        "Type": "Notification", "MessageId": "1", "TopicArn": "arn:aws:sns:eu-west-3:1:topic",
        "Subject": "Amazon S3 Notification", "Message": json.dumps(document),
    }


def sqs(*documents: object) -> dict[str, Any]:
    return records(*({"eventSource": "aws:sqs", "body": json.dumps(document)} for document in documents))


def eventbridge(key: str, detail_type: str = "Object Created", **described: Any) -> dict[str, Any]:
    return {
        "detail-type": detail_type, "source": "aws.s3",
        "detail": {"bucket": {"name": "documents"}, "object": {"key": key, **described}},
    }


def cloud_event(data: object, event_type: str = "com.amazonaws.s3.ObjectCreated:Put") -> dict[str, Any]:
    return {"specversion": "1.0", "id": "1", "source": "aws:s3.eu-west-3.documents", "type": event_type, "data": data}


def bare(key: str) -> dict[str, Any]:
    return {"bucket": "documents", "key": key}


def aws_encoded(key: str) -> str:
    return quote_plus(key, safe="/")


def entry(name: str, *, etag: str = "abc", size: int = 5, **extended: str) -> dict[str, Any]:
    values = {"Seaweed-X-Amz-ETag": etag} | {f"Seaweed-X-Amz-{name.replace('_', '-')}": value
                                            for name, value in extended.items()}
    return {
        "name": name, "chunks": [{"size": size}], "attributes": {"file_size": size},
        "extended": {name: base64.b64encode(value.encode()).decode() for name, value in values.items()},
    }


Change = Literal["create", "update", "delete", "rename"]


def seaweedfs(
    change: Change, path: str, *, old: object = None, new: object = None, parent: str | None = None
) -> dict[str, Any]:
    folder = path.rpartition("/")[0] if parent is None else parent
    message = {"old_entry": old, "new_entry": new, "new_parent_path": folder if new else None}
    return {"key": path, "event_type": change, "message": {name: value for name, value in message.items() if value}}


def seaweedfs_created(key: str) -> dict[str, Any]:
    return seaweedfs("create", f"/buckets/documents/{key}", new=entry(key.rpartition("/")[2]))


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("document", [
    pytest.param(lambda key: records(record(aws_encoded(key))), id="aws"),
    pytest.param(lambda key: records(record(quote(key, safe=""))), id="percent-encoded"),
    pytest.param(lambda key: records(record("?", urlDecodedKey=key)), id="aws-decoded"),
    pytest.param(lambda key: {"EventName": "s3:ObjectCreated:Put", "Key": f"documents/{key}", **records(
        record(quote_plus(key), "s3:ObjectCreated:Put", source="minio:s3"))}, id="minio"),
    pytest.param(lambda key: records(record(quote_plus(key), "s3:ObjectCreated:Put", source="rustfs:s3")), id="rustfs"),
    pytest.param(lambda key: records({"object_name": quote_plus(key), "bucket_name": "documents",
                                      "event_name": "s3:ObjectCreated:Put",
                                      "data": record(quote_plus(key), source="rustfs:s3")}), id="rustfs-wrapped"),
    pytest.param(lambda key: records(record(key, source="ceph:s3")), id="ceph"),
    pytest.param(lambda key: sns(records(record(aws_encoded(key)))), id="sns"),
    pytest.param(lambda key: sqs(records(record(aws_encoded(key)))), id="sqs"),
    pytest.param(lambda key: sqs(sns(records(record(aws_encoded(key))))), id="sns-in-sqs"),
    pytest.param(lambda key: records({"EventSource": "aws:sns", "Sns": sns(records(record(aws_encoded(key))))}),
                 id="sns-record"),
    pytest.param(eventbridge, id="eventbridge"),
    pytest.param(lambda key: sqs(eventbridge(key)), id="eventbridge-in-sqs"),
    pytest.param(lambda key: sqs(sns(eventbridge(key))), id="eventbridge-in-sns-in-sqs"),
    pytest.param(lambda key: cloud_event(record(aws_encoded(key))), id="cloudevents-record"),
    pytest.param(lambda key: cloud_event(records(record(aws_encoded(key)))), id="cloudevents-records"),
    pytest.param(lambda key: cloud_event(json.dumps(records(record(aws_encoded(key))))), id="cloudevents-text"),
    pytest.param(lambda key: cloud_event(eventbridge(key)), id="cloudevents-eventbridge"),
    pytest.param(lambda key: cloud_event(bare(key)), id="cloudevents-bare"),
    pytest.param(lambda key: cloud_event(bare(key), "com.amazonaws.s3.object.created"), id="cloudevents-dotted-type"),
    pytest.param(lambda key: [cloud_event(bare(key))], id="cloudevents-batch"),
    pytest.param(lambda key: {**cloud_event(None), "data_base64": base64.b64encode(
        json.dumps(bare(key)).encode()).decode()}, id="cloudevents-base64"),
])
def test_keys_come_out_as_the_store_holds_them(key: str, document: Any) -> None:
    assert read(document(key)) == (created("documents", key),)


@pytest.mark.parametrize("key", [key for key in KEYS if not key.endswith("/")])
def test_keys_of_seaweedfs_are_paths(key: str) -> None:
    assert read(seaweedfs_created(key)) == (created("documents", key, etag="abc", size_bytes=5),)


@pytest.mark.parametrize(("name", "kind"), [
    ("ObjectCreated:Put", "created"), ("s3:ObjectCreated:Post", "created"), ("s3:ObjectCreated:Copy", "created"),
    ("ObjectCreated:CompleteMultipartUpload", "created"), ("s3:ObjectSynced:Create", "created"),
    ("ObjectRemoved:Delete", "removed"), ("s3:ObjectRemoved:DeleteMarkerCreated", "removed"),
    ("LifecycleExpiration:Delete", "removed"), ("s3:LifecycleExpiration:DeleteMarkerCreated", "removed"),
    ("s3:ObjectLifecycle:Expiration:Current", "removed"), ("s3:ObjectLifecycle:Expiration:DeleteMarker", "removed"),
    ("s3:ObjectSynced:Delete", "removed"), ("s3:ObjectSynced:DeletionMarkerCreated", "removed"),
    ("s3:ObjectLifecycle:Expiration:Noncurrent", None), ("s3:ObjectLifecycle:Expiration:NonCurrent", None),
    ("s3:ObjectLifecycle:Transition:Current", None), ("s3:LifecycleTransition", None),
    ("s3:ObjectRestore:Post", None), ("s3:ObjectRestore:Completed", None), ("s3:ObjectRestore:Delete", None),
    ("s3:IntelligentTiering", None), ("ObjectTagging:Put", None), ("ObjectTagging:Delete", None),
    ("ObjectAcl:Put", None), ("s3:ReducedRedundancyLostObject", None),
    ("s3:Replication:OperationMissedThreshold", None),
    ("s3:ObjectCreated:PutTagging", None), ("s3:ObjectCreated:DeleteTagging", None),
    ("s3:ObjectCreated:PutRetention", None), ("s3:ObjectCreated:PutLegalHold", None), ("s3:ObjectRemoved:NoOP", None),
    ("s3:ObjectAccessed:Get", None), ("s3:BucketCreated:*", None), ("s3:Something:New", None),
])
def test_names_of_events(name: str, kind: str | None) -> None:
    assert [event.kind for event in read(records(record("a", name)))] == ([kind] if kind else [])


@pytest.mark.parametrize("detail_type", [
    "Object Restore Initiated", "Object Restore Expired", "Object Storage Class Changed", "Object Access Tier Changed",
    "Object ACL Updated", "Object Tags Added", "Object Tags Deleted",
])
def test_other_events_of_eventbridge_mean_nothing(detail_type: str) -> None:
    assert read(eventbridge("a", detail_type)) == ()


def test_facts_are_spelt_in_several_ways() -> None:
    expected = (created("documents", "a", etag="e", size_bytes=3, version_id="v", sequencer="0A"),)
    assert read(records(record("a", eTag='"e"', size="3", versionId="v", sequencer="0A"))) == expected
    assert read(eventbridge("a", etag="e", size=3, sequencer="0A", **{"version-id": "v"})) == expected


@pytest.mark.parametrize("facts", [
    {"size": "many", "eTag": None, "versionId": None, "sequencer": None}, {"size": -1}, {"size": True}, {"size": 1.5},
    {"size": 2**63}, {"size": "9" * 30}, {"size": "²"}, {"size": []}, {"sequencer": "not hexadecimal"}, {"eTag": 3},
])
def test_facts_that_cannot_be_read_are_left_out(facts: dict[str, Any]) -> None:
    assert read(records(record("a", **facts))) == (created("documents", "a"),)


def test_records_keep_their_order() -> None:
    first, second, third = record("1"), record("2", "ObjectRemoved:Delete"), record("3", "s3:TestEvent")
    events = read(sqs(records(first, third, second), sns(records(second, first))))
    assert [event.key for event in events] == ["1", "2", "2", "1"]


@pytest.mark.parametrize("document", [
    {"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "documents"}, records(), [], sqs(records()),
    {**sns({}), "Type": "SubscriptionConfirmation"}, {**sns({}), "Type": "UnsubscribeConfirmation"},
    cloud_event(bare("a"), "com.amazonaws.s3.object.tags.added"),
])
def test_what_means_nothing(document: object) -> None:
    assert read(document) == ()


@pytest.mark.parametrize(("document", "says"), [
    ({}, "fields are none"), ({"hello": 1}, "'hello'"), (1, "JSON int"), ("text", "JSON str"), (None, "NoneType"),
    ({"Records": 3}, "'Records' is no list"), (records(3), "JSON int"), (records({"eventSource": "aws:ses"}), "known"),
    (records({"s3": {}}), "'eventName'"), (records({"eventName": "ObjectCreated:Put", "s3": 3}), "'s3' is no object"),
    (records(record("")), "names no key"), (records(record("%FF")), "UTF-8"), (records(record("a%00b")), "no store"),
    (records(record("\ud800")), "no store"), ({"\ud800": 1}, r"\\ud800"), (records(record(3)), "'key' is no text"),
    (records({"eventName": "ObjectCreated:Put", "s3": {"object": {"key": "a"}}}), "'bucket' is no object"),
    (sqs("not json"), "JSON str"), (records({"eventSource": "aws:sqs", "body": "{"}), "not JSON"),
    ({**sns({}), "Message": 3}, "'Message' is no text"), (cloud_event(None), "CloudEvent"),
    (cloud_event({"other": 1}), "known form"), ({**cloud_event(None), "data_base64": "&"}, "base64"),
    ({"detail-type": "EC2 Instance State-change Notification", "source": "aws.ec2"}, "not about a bucket"),
    ({"detail-type": "x" * 500_000, "source": "aws.ec2"}, "xxx…"),
    ({"detail-type": "Object Created", "source": "aws.s3"}, "'detail' is no object"),
    ({"key": 3, "event_type": "create"}, "'key' is no text"),
    (seaweedfs("rename", "/buckets/documents/a", old=entry("a")), "'new_parent_path'"),
])
def test_what_is_no_notification_is_refused(document: object, says: str) -> None:
    with pytest.raises(InvalidArgument, match=says) as refusal:
        read(document)
    assert len(refusal.value.message) < 2_000
    refusal.value.message.encode()


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000, b"1" * 10_000, b'{"a": 1} x'])
def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidArgument, match="JSON"):
        read_notification(body)


def test_wrapping_is_bounded() -> None:
    document: dict[str, Any] = records(record("a"))
    for _ in range(20):
        document = sns(document)
    with pytest.raises(InvalidArgument, match="wrapped more than"):
        read(document)


def test_the_number_of_records_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifications, "RECORDS_MAX", 10)
    assert len(read(records(*[record("a")] * 10))) == 10
    with pytest.raises(InvalidArgument, match="at most 10"):
        read(records(*[record("a")] * 11))
    with pytest.raises(InvalidArgument, match="more than 10 events"):
        read(sqs(*[records(*[record("a")] * 6)] * 2))


def test_seaweedfs_tells_what_became_of_a_file() -> None:
    path, facts = "/buckets/documents/f/a.txt", {"etag": "abc", "size_bytes": 5}
    old, other = entry("a.txt"), entry("a.txt", etag="def", size=6)
    assert read(seaweedfs("delete", path, old=old)) == (removed("documents", "f/a.txt", **facts),)
    assert read(seaweedfs("update", path, old=old, new=other)) == (
        created("documents", "f/a.txt", etag="def", size_bytes=6),
    )
    assert read(seaweedfs("rename", path, old=old, new=entry("b.txt"), parent="/buckets/documents/g")) == (
        removed("documents", "f/a.txt", **facts), created("documents", "g/b.txt", **facts),
    )
    moved_out = seaweedfs("rename", path, old=old, new=entry("b.txt"), parent="/elsewhere")
    assert read(moved_out) == (removed("documents", "f/a.txt", **facts),)


def test_seaweedfs_calls_its_message_by_another_name_in_some_releases() -> None:
    document = seaweedfs_created("a")
    document["message_data"] = document.pop("message")
    assert read(document) == (created("documents", "a", etag="abc", size_bytes=5),)


@pytest.mark.parametrize("document", [
    seaweedfs("create", "/buckets/documents/f", new={"name": "f", "is_directory": True}),
    seaweedfs("delete", "/buckets/documents/f", old={"name": "f", "is_directory": True}),
    seaweedfs("rename", "/buckets/documents/f", old={"is_directory": True}, new={"name": "g", "is_directory": True}),
    seaweedfs("create", "/buckets/documents/.uploads/1_2/0001_3.part", new=entry("0001_3.part")),
    seaweedfs("create", "/buckets/documents", new=entry("documents")),
    seaweedfs("create", "/topics/log", new=entry("log")),
    seaweedfs("update", "/buckets/documents/a", old=entry("a"), new=entry("a", Tagging="x")),
])
def test_of_seaweedfs_folders_parts_and_tags_mean_nothing(document: object) -> None:
    assert read(document) == ()


def test_seaweedfs_keeps_versions_in_a_folder() -> None:
    path = "/buckets/documents/f/a.txt.versions/v_1f"
    version = entry("v_1f", Version_Id="1f")
    assert read(seaweedfs("create", path, new=version)) == (
        created("documents", "f/a.txt", etag="abc", size_bytes=5, version_id="1f"),
    )
    marker = {**entry("v_1f", Version_Id="1f", Delete_Marker="true", etag=""), "chunks": [], "attributes": {}}
    assert read(seaweedfs("create", path, new=marker)) == (
        removed("documents", "f/a.txt", size_bytes=0, version_id="1f"),
    )
    superseded = entry("v_1f", Version_Id="1f", Noncurrent_Since_Ns="1")
    assert read(seaweedfs("update", path, old=version, new=superseded)) == ()
    # A key of this shape in a bucket without versions is a key.
    assert read(seaweedfs("create", path, new=entry("v_1f")))[0].key == "f/a.txt.versions/v_1f"


def test_seaweedfs_leaves_out_what_is_zero() -> None:
    md5 = base64.b64encode(bytes.fromhex("d41d8cd98f00b204e9800998ecf8427e")).decode()
    empty = {"name": "a", "attributes": {"md5": md5}}
    assert read(seaweedfs("create", "/buckets/documents/a", new=empty)) == (
        created("documents", "a", etag="d41d8cd98f00b204e9800998ecf8427e", size_bytes=0),
    )
