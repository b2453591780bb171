/**
 * The names of the service's own HTTP headers. contract: Authentication, Delivery
 *
 * @example
 * const signature = headers.get(HEADERS.signature);
 * if (signature === null) throw new Error(`There is no ${HEADERS.signature} header.`);
 */
export const HEADERS = {
  timestamp: "X-Service-Timestamp",
  signature: "X-Service-Signature",
  event: "X-Service-Event",
  delivery: "X-Service-Delivery",
  attempt: "X-Service-Attempt",
  keyId: "X-Service-Key-Id",
  replay: "X-Service-Replay",
} as const;
