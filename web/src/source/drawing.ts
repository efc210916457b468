/** Pages and pictures of documents, drawn by the service. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { knowledge } from "../api/clients";
import type { GetPageImageRequestSchema, PageImageHeader } from "../gen/sourcier/gateway/v1/knowledge_pb";

export interface Picture {
  header: PageImageHeader;
  url: string;
}

/** Asks for a page or a picture; null where nothing came. Whoever calls it gives the address back. */
export async function drawn(request: MessageInitShape<typeof GetPageImageRequestSchema>, signal: AbortSignal): Promise<Picture | null> {
  let header: PageImageHeader | null = null;
  const pieces: BlobPart[] = [];
  for await (const { part } of knowledge.getPageImage(request, { signal })) {
    if (part.case === "header") header = part.value;
    else if (part.case === "data") pieces.push(new Uint8Array(part.value));
  }
  return header && { header, url: URL.createObjectURL(new Blob(pieces, { type: "image/png" })) };
}
