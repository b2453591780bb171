/** Names of the service's own HTTP headers. contract: Authentication, Delivery */
export const HEADERS = {
  timestamp: "X-Service-Timestamp",
  signature: "X-Service-Signature",
  event: "X-Service-Event",
  delivery: "X-Service-Delivery",
  attempt: "X-Service-Attempt",
  keyId: "X-Service-Key-Id",
  replay: "X-Service-Replay",
} as const;
