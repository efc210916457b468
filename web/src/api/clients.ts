/** The gateway's public services, over the Connect protocol of the server that sent this page. */
import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { AnswerService } from "../gen/sourcier/gateway/v1/answer_pb";
import { ConversationService } from "../gen/sourcier/gateway/v1/conversation_pb";
import { KnowledgeService } from "../gen/sourcier/gateway/v1/knowledge_pb";
import { asked, headers } from "./credentials";

/** Shows who asks, and notes when that is not known. */
const known: Interceptor = (next) => async (request) => {
  for (const [name, value] of Object.entries(headers())) request.header.set(name, value);
  try {
    return await next(request);
  } catch (error) {
    if (ConnectError.from(error).code === Code.Unauthenticated) asked.value = true;
    throw error;
  }
};

/** What calls go by; a view that is fetched later makes its own client of it, with the contract that it alone needs. */
export const transport = createConnectTransport({ baseUrl: location.origin, useBinaryFormat: false, interceptors: [known] });

export const answers = createClient(AnswerService, transport);
export const conversations = createClient(ConversationService, transport);
export const knowledge = createClient(KnowledgeService, transport);
