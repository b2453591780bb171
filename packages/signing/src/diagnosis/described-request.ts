import type { RequestToDiagnose } from "./diagnose.ts";
import { HEADERS } from "../headers.ts";
import { readRequestTarget } from "../request-target.ts";

/** A rejected request as its sender describes it to the signature debugger. */
export interface DescribedRequest {
  readonly method: string;
  /** The path that was called, with its query string, or the whole URL. */
  readonly path: string;
  /** The timestamp that was signed. */
  readonly timestamp: string;
  readonly body: string | Uint8Array;
  readonly signature: string;
  /** The known headers of the request. */
  readonly headers: Iterable<readonly [name: string, value: string]>;
  /** The host that was called, for a request with neither a whole URL nor a Host header. */
  readonly host?: string;
}

/**
 * Converts a description to the request that `diagnose` takes. The X-Service-Timestamp header takes precedence over
 * `timestamp`, and the Host header over `host`. contract: Signature debugger
 *
 * @example
 * const path = "https://collections.example/api/v1/partner/cases?dryRun=true";
 * const request = requestDescribed({ method: "POST", path, timestamp, body, signature, headers });
 * const { diagnosis } = diagnose(request, { secret }, Date.now());
 */
export function requestDescribed(described: DescribedRequest): RequestToDiagnose {
  const headers = new Map([...described.headers].map(([name, value]) => [name.toLowerCase(), value.trim()]));
  const { method, timestamp, body } = described;
  const { path, host: urlHost } = readRequestTarget(described.path);
  const host = urlHost ?? headers.get("host") ?? described.host;
  const sentTimestamp = headers.get(HEADERS.timestamp.toLowerCase()) ?? timestamp;
  return {
    method,
    path,
    timestamp: sentTimestamp,
    body,
    signature: described.signature.trim(),
    ...(host !== undefined && { host }),
    ...(sentTimestamp !== timestamp && { signedTimestamp: timestamp }),
  };
}
