export { type AnsweredRequest, createRequestLog, type RequestLog } from "./request-log.ts";
export { type FoundRequests, hasUsed, recentRequests, type RequestSearch } from "./recent-requests.ts";
export type { LoggedRequest } from "./schema.ts";
export { deleteOldRequests, type RequestWriting, writeRequests } from "./write-requests.ts";
