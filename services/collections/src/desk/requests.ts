import { parsePublicId, publicId } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { Lender } from "@collections/lenders";
import { timeIn } from "@collections/local-time";
import { REQUEST_ID_PREFIX } from "../http/request-id.ts";
import { recentRequests } from "@collections/request-log";
import { chosenLender } from "./chosen-lender.ts";

const PAGE_SIZE = 50;

/** Which requests to show. An unknown value does not restrict them. */
export interface RequestsWanted {
  readonly lender?: string | undefined;
  /** `failed`, or undefined for all requests. */
  readonly result?: string | undefined;
  /** Only requests whose path contains this text. */
  readonly path?: string | undefined;
  /** Only requests before the one with this id. */
  readonly before?: string | undefined;
}

/** Returns a page of the requests of one of some lenders to the REST API, the latest first, in its local time. */
export async function pageOfRequests(em: EntityManager, given: readonly Lender[], wanted: RequestsWanted) {
  const { lenderCodes, lender } = chosenLender(given, wanted.lender);
  const onlyFailed = wanted.result === "failed";
  const page = { lenderCodes, lenderCode: lender?.code, timeZone: lender?.timeZone ?? "UTC", onlyFailed };
  if (!lender) return { ...page, requests: [], next: null, isFull: true };
  const before = parsePublicId(REQUEST_ID_PREFIX, wanted.before ?? "");
  const { path } = wanted;
  const found = await recentRequests(em, lender.id, { before, onlyFailed, path, limit: PAGE_SIZE + 1 });
  const listed = found.requests.slice(0, PAGE_SIZE);
  const isFull = found.requests.length > PAGE_SIZE;
  const last = isFull ? listed.at(-1)!.id : found.searchedTo;
  return {
    ...page,
    requests: listed.map(({ id, receivedAt, keyId, isSigned, method, path: sent, status, code, durationMs }) => ({
      requestId: publicId(REQUEST_ID_PREFIX, id),
      receivedAt: timeIn(lender.timeZone, receivedAt),
      keyId,
      isSigned,
      method,
      path: sent,
      status,
      code,
      durationMs,
    })),
    next: last === undefined ? null : publicId(REQUEST_ID_PREFIX, last),
    isFull,
  };
}
