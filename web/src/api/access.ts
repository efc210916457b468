import { createClient } from "@connectrpc/connect";
import { AccessService } from "../gen/sourcier/gateway/v1/access_pb";
import { transport } from "./clients";

export const access = createClient(AccessService, transport);
