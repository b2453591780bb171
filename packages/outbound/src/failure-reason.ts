/**
 * The kind of failure of a request without an answer. `BLOCKED_ADDRESS`: connecting to this address is forbidden.
 * `ABORTED`: we ended the request ourselves. `CONNECT`: the connection failed, or the answer was not HTTP.
 */
export type FailureCode = "TIMEOUT" | "DNS" | "CONNECT" | "TLS" | "BLOCKED_ADDRESS" | "ABORTED";

/** The reason why there is no answer. Each reason belongs to one `FailureCode`. */
export type FailureReason =
  // BLOCKED_ADDRESS
  | "URL_NOT_ALLOWED"
  | "ADDRESS_NOT_PUBLIC"
  // TIMEOUT
  | "NO_CONNECTION_IN_TIME"
  | "NO_ANSWER_IN_TIME"
  // DNS
  | "NAME_NOT_FOUND"
  | "DOMAIN_DNS_FAILED"
  | "OWN_DNS_FAILED"
  // CONNECT
  | "OWN_NETWORK_FAILED"
  | "CONNECTION_REFUSED"
  | "CONNECTION_RESET"
  | "CONNECTION_CLOSED"
  | "HOST_UNREACHABLE"
  | "NOT_HTTP"
  | "HEADERS_TOO_LARGE"
  | "CONNECTION_FAILED"
  // TLS
  | "CERTIFICATE_EXPIRED"
  | "CERTIFICATE_NOT_YET_VALID"
  | "CERTIFICATE_SELF_SIGNED"
  | "CERTIFICATE_FOR_OTHER_HOST"
  | "CERTIFICATE_NOT_TRUSTED"
  | "CERTIFICATE_CHAIN_INCOMPLETE"
  | "CERTIFICATE_CHAIN_INVALID"
  | "CERTIFICATE_KEY_TOO_WEAK"
  | "CERTIFICATE_SIGNATURE_TOO_WEAK"
  | "CERTIFICATE_NAME_NOT_PERMITTED"
  | "CERTIFICATE_WRONG_PURPOSE"
  | "CERTIFICATE_REVOKED"
  | "CERTIFICATE_REJECTED"
  | "CLIENT_CERTIFICATE_REQUIRED"
  | "TLS_VERSION_NOT_SHARED"
  | "TLS_CIPHER_NOT_SHARED"
  | "SERVER_NAME_UNKNOWN"
  | "HTTP_1_NOT_OFFERED"
  | "NOT_TLS"
  | "TLS_FAILED"
  // ABORTED
  | "ABORTED_BY_CALLER"
  | "SHUTTING_DOWN";

/** The cause of a failure: a code, a reason, details of the reason, and whether the cause is on our side. */
export type FailureCause = {
  code: FailureCode;
  reason: FailureReason;
  /** The code of the underlying error, such as ECONNREFUSED. Some reasons have none. */
  systemCode?: string;
  /** The words of OpenSSL for an error of TLS, such as `EE certificate key too weak`, or what is not HTTP in an answer. */
  words?: string;
  /** The time limit of a request that took too long. */
  timeoutMs?: number;
  /** The reason that `checkUrl` returned, if the URL is not allowed. */
  urlProblem?: string;
  ownFault: boolean;
};
