"""Where files lie in the object store: originals by upload, what parsing made of them by content.

An artefact belongs to a content, not to a document: the same file under another name, or cut otherwise, is not read
again. It stays within its tenant: whether somebody else holds the same file is nobody's business.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import PurePath

from sourcier.services.ingest.documents import ARTEFACT_VERSION

ORIGINALS, ARTEFACTS = "documents/", "artefacts/"
OWN_PREFIXES = (ORIGINALS, ARTEFACTS)
"""What the keys of all files of the service begin with."""
ORIGINAL_NAME = "original"
PARSER_VERSION = 7
"""Raised when a parser reads the same file otherwise: artefacts of before are then not used for new versions."""
OCR_VERSION = 4
"""Raised when OCR reads the same page otherwise: pages that were read before are then read again."""
VISION_VERSION = 1
"""Raised when a vision model is asked otherwise: pictures that were described before are then described again."""
SPEECH_VERSION = 1
"""Raised when recordings are cut or heard otherwise: parts that were heard before are then heard again."""
PARSER_AND_ARTEFACT_VERSION = f"{PARSER_VERSION}.{ARTEFACT_VERSION}"


def original_key(*, tenant: str, upload_id: str) -> str:
    """Return the key of an original; each upload has its own, so that no deletion can touch another document."""
    return f"{ORIGINALS}{tenant}/{upload_id}/{ORIGINAL_NAME}"


def artefacts_prefix(*, tenant: str, content_sha256: bytes) -> str:
    """Return what the keys of all artefacts of a content begin with."""
    return f"{ARTEFACTS}{tenant}/{content_sha256.hex()}/"


def parsed_key(*, tenant: str, content_sha256: bytes, filename: str, content_type: str, choices: str = "") -> str:
    """Return the key of the parsed artefact of a content, read under other `choices` than the usual ones.

    The name's suffix and the media type tell parsers what to read it as, where the content does not.
    """
    described = "\n".join((
        PARSER_AND_ARTEFACT_VERSION, PurePath(filename).suffix.lower(), content_type.lower(),
        *((choices,) if choices else ()),
    ))
    digest = hashlib.sha256(described.encode()).hexdigest()[:16]
    return f"{artefacts_prefix(tenant=tenant, content_sha256=content_sha256)}{digest}.json.gz"


def page_key(*, tenant: str, content_sha256: bytes, limits: Mapping[str, float], number: int) -> str:
    """Return the key of what OCR read of a page of a content, or of a picture; other `limits` count other pictures."""
    prefix = artefacts_prefix(tenant=tenant, content_sha256=content_sha256)
    told = "\n".join(f"{name} {float(value)}" for name, value in sorted(limits.items()))
    digest = hashlib.sha256(told.encode()).hexdigest()[:12]
    return f"{prefix}ocr-{OCR_VERSION}-{digest}/{number}.json.gz"


def description_key(*, tenant: str, content_sha256: bytes, model: str, fingerprint: str) -> str:
    """Return the key of what a vision model says of a picture of a content; another model is asked again."""
    prefix = artefacts_prefix(tenant=tenant, content_sha256=content_sha256)
    digest = hashlib.sha256(model.encode()).hexdigest()[:12]
    return f"{prefix}vision-{VISION_VERSION}-{digest}/{fingerprint}.json.gz"


def transcript_key(*, tenant: str, content_sha256: bytes, recogniser: str, number: int) -> str:
    """Return the key of what was heard in a part of a recording; another model or language hears it again."""
    prefix = artefacts_prefix(tenant=tenant, content_sha256=content_sha256)
    digest = hashlib.sha256(recogniser.encode()).hexdigest()[:12]
    return f"{prefix}speech-{SPEECH_VERSION}-{digest}/{number}.json.gz"
