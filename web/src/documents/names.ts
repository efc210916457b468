import type { Document } from "../gen/sourcier/gateway/v1/knowledge_pb";

export function nameOf(document: Document): string {
  return document.title || document.filename || document.source;
}
