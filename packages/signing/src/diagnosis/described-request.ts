import type { RequestToDiagnose } from "./diagnose.ts";
import { HEADERS } from "../headers.ts";

/** A request as somebody describes it who does not know why it was refused. */
export interface DescribedRequest {
  readonly method: string;
  /** The path that was called, with its query; or the whole URL. */
  readonly path: string;
  /** What was signed as the timestamp. */
  readonly timestamp: string;
  readonly body: string | Uint8Array;
  readonly signature: string;
  /** The headers that were sent, as far as they are known. */
  readonly headers: Iterable<readonly [name: string, value: string]>;
  /** The host that was called, where neither the path nor a header says it. */
  readonly host?: string;
}

/**
 * The request that was sent, by its headers where they are given. contract: Signature debugger
 *
 * @example
 * const path = "https://collections.example/api/v1/partner/cases?dryRun=true";
 * const request = requestDescribed({ method: "POST", path, timestamp, body, signature, headers });
 * const { diagnosis } = diagnose(request, { secret }, Date.now());
 */
export function requestDescribed(described: DescribedRequest): RequestToDiagnose {
  const headers = new Map([...described.headers].map(([name, value]) => [name.toLowerCase(), value.trim()]));
  const { method, path, timestamp, body } = described;
  const [, urlHost, urlPath] = /^https?:\/\/([^/?#]*)(.*)$/i.exec(path) ?? [];
  const host = urlHost ?? headers.get("host") ?? described.host;
  const sentTimestamp = headers.get(HEADERS.timestamp.toLowerCase()) ?? timestamp;
  return {
    method,
    path: urlPath === undefined ? path : `${urlPath.startsWith("/") ? "" : "/"}${urlPath}`,
    timestamp: sentTimestamp,
    body,
    signature: described.signature.trim(),
    ...(host !== undefined && { host }),
    ...(sentTimestamp !== timestamp && { signedTimestamp: timestamp }),
  };
}
