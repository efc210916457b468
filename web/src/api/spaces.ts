import { createClient } from "@connectrpc/connect";
import { SpaceService } from "../gen/sourcier/gateway/v1/spaces_pb";
import { transport } from "./clients";

export const spaces = createClient(SpaceService, transport);
