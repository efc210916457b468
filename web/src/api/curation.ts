import { createClient } from "@connectrpc/connect";
import { CurationService } from "../gen/sourcier/gateway/v1/curation_pb";
import { transport } from "./clients";

export const curation = createClient(CurationService, transport);
