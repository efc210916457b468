import { type Reference, UNDATED } from "../ask/segments";
import { Support } from "../gen/sourcier/gateway/v1/answer_pb";
import type { Document } from "../gen/sourcier/gateway/v1/knowledge_pb";

/** A document as a source that is opened without a passage. */
export function ofDocument(document: Document): Reference {
  return {
    marker: 0, tone: "plain", documentId: document.documentId, versionId: document.versionId, title: document.title || document.filename,
    source: document.source, page: 0, chunkId: "", passage: "", start: 0, end: 0, headingPath: [], places: [], pictures: [], support: Support.UNSPECIFIED,
    reason: "", sentence: "", faqEntryId: "", ...UNDATED,
  };
}
