/** The gateway's public services, over the Connect protocol of the server that sent this page. */
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { AnswerService } from "../gen/sourcier/gateway/v1/answer_pb";
import { ConversationService } from "../gen/sourcier/gateway/v1/conversation_pb";
import { CurationService } from "../gen/sourcier/gateway/v1/curation_pb";
import { KnowledgeService } from "../gen/sourcier/gateway/v1/knowledge_pb";
import { OperationsService } from "../gen/sourcier/gateway/v1/operations_pb";

const transport = createConnectTransport({ baseUrl: location.origin, useBinaryFormat: false });

export const answers = createClient(AnswerService, transport);
export const conversations = createClient(ConversationService, transport);
export const curation = createClient(CurationService, transport);
export const knowledge = createClient(KnowledgeService, transport);
export const operations = createClient(OperationsService, transport);
