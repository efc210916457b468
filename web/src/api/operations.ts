import { createClient } from "@connectrpc/connect";
import { OperationsService } from "../gen/sourcier/gateway/v1/operations_pb";
import { transport } from "./clients";

export const operations = createClient(OperationsService, transport);
