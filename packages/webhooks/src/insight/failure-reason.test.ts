import { describeFailure, type FailureCode, type FailureReason } from "@collections/outbound";
import { expect, test } from "vitest";
import type { AttemptErrorCode } from "../endpoint/attempt.ts";
import { reasonInText } from "./failure-reason.ts";

/**
 * For each reason: the code of the failure, and then the possible codes of the underlying error. Null means that there
 * may be no underlying error.
 */
const FAILURES: Record<FailureReason, readonly [FailureCode, ...(string | null)[]]> = {
  URL_NOT_ALLOWED: ["BLOCKED_ADDRESS", null],
  ADDRESS_NOT_PUBLIC: ["BLOCKED_ADDRESS", null],
  NO_CONNECTION_IN_TIME: ["TIMEOUT", null],
  NO_ANSWER_IN_TIME: ["TIMEOUT", null],
  NAME_NOT_FOUND: ["DNS", "ENOTFOUND", "ENODATA"],
  DOMAIN_DNS_FAILED: ["DNS", "ESERVFAIL"],
  OWN_DNS_FAILED: ["DNS", "EAI_AGAIN", "ECONNREFUSED"],
  OWN_NETWORK_FAILED: ["CONNECT", "ENETUNREACH", "EMFILE"],
  CONNECTION_REFUSED: ["CONNECT", "ECONNREFUSED"],
  CONNECTION_RESET: ["CONNECT", "ECONNRESET"],
  CONNECTION_CLOSED: ["CONNECT", "EPIPE", "UND_ERR_SOCKET"],
  HOST_UNREACHABLE: ["CONNECT", "EHOSTUNREACH"],
  NOT_HTTP: ["CONNECT", null, "UND_ERR_RES_CONTENT_LENGTH_MISMATCH"],
  HEADERS_TOO_LARGE: ["CONNECT", "UND_ERR_HEADERS_OVERFLOW"],
  CONNECTION_FAILED: ["CONNECT", "unknown"],
  CERTIFICATE_EXPIRED: ["TLS", "CERT_HAS_EXPIRED"],
  CERTIFICATE_NOT_YET_VALID: ["TLS", "CERT_NOT_YET_VALID"],
  CERTIFICATE_SELF_SIGNED: ["TLS", "DEPTH_ZERO_SELF_SIGNED_CERT"],
  CERTIFICATE_FOR_OTHER_HOST: ["TLS", "ERR_TLS_CERT_ALTNAME_INVALID"],
  CERTIFICATE_NOT_TRUSTED: ["TLS", "SELF_SIGNED_CERT_IN_CHAIN", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY"],
  CERTIFICATE_CHAIN_INCOMPLETE: ["TLS", "UNABLE_TO_GET_ISSUER_CERT", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
  CERTIFICATE_CHAIN_INVALID: ["TLS", "PATH_LENGTH_EXCEEDED", "INVALID_CA"],
  CERTIFICATE_KEY_TOO_WEAK: ["TLS", "EE_KEY_TOO_SMALL", "CA_KEY_TOO_SMALL"],
  CERTIFICATE_SIGNATURE_TOO_WEAK: ["TLS", "CA_MD_TOO_WEAK"],
  CERTIFICATE_NAME_NOT_PERMITTED: ["TLS", "PERMITTED_VIOLATION", "EXCLUDED_VIOLATION"],
  CERTIFICATE_WRONG_PURPOSE: ["TLS", "INVALID_PURPOSE"],
  CERTIFICATE_REVOKED: ["TLS", "CERT_REVOKED"],
  CERTIFICATE_REJECTED: ["TLS", "UNSPECIFIED", "CRL_HAS_EXPIRED"],
  CLIENT_CERTIFICATE_REQUIRED: [
    "TLS",
    "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED",
    "ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE",
    "ECONNRESET",
  ],
  TLS_VERSION_NOT_SHARED: ["TLS", "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION"],
  TLS_CIPHER_NOT_SHARED: ["TLS", "ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE"],
  SERVER_NAME_UNKNOWN: ["TLS", "ERR_SSL_TLSV1_UNRECOGNIZED_NAME"],
  HTTP_1_NOT_OFFERED: ["TLS", "ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL"],
  NOT_TLS: ["TLS", "ERR_SSL_WRONG_VERSION_NUMBER"],
  TLS_FAILED: ["TLS", "EPROTO", "ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR"],
  ABORTED_BY_CALLER: ["ABORTED"],
  SHUTTING_DOWN: ["ABORTED"],
};

/** Reasons that say no more than the code of the attempt. `reasonInText` returns undefined for them. */
const GENERAL: ReadonlySet<FailureReason> = new Set(["CONNECTION_FAILED", "TLS_FAILED"]);

const failures = Object.entries(FAILURES).flatMap(([reason, [code, ...systemCodes]]) =>
  systemCodes.map((systemCode) => ({ reason: reason as FailureReason, code: code as AttemptErrorCode, systemCode })),
);

test.each(failures)(
  "reasonInText recognizes $reason in a sentence with the error code $systemCode",
  ({ reason, code, systemCode }) => {
    const facts = { reason, ...(systemCode !== null && { systemCode }) };
    const expected = GENERAL.has(reason) ? undefined : reason;
    const withWords = code === "TLS" ? [{ ...facts, words: "in words" }] : [];
    for (const failure of [facts, ...withWords]) {
      expect(reasonInText(code, describeFailure(failure))).toBe(expected);
    }
  },
);

test.each(["NO_CONNECTION_IN_TIME", "NO_ANSWER_IN_TIME"] as const)(
  "reasonInText recognizes %s in a sentence that names a time limit",
  (reason) => {
    expect(reasonInText("TIMEOUT", describeFailure({ reason, timeoutMs: 10_000 }))).toBe(reason);
  },
);

test("reasonInText reads URL_NOT_ALLOWED from a sentence of checkUrl", () => {
  const urlProblem = "The URL must start with https://.";
  expect(reasonInText("BLOCKED_ADDRESS", describeFailure({ reason: "URL_NOT_ALLOWED", urlProblem }))).toBe(
    "URL_NOT_ALLOWED",
  );
});

test.each<[AttemptErrorCode, string, FailureReason | undefined]>([
  ["TIMEOUT", "No connection was made within 10000 ms.", "NO_CONNECTION_IN_TIME"],
  ["TIMEOUT", "No answer came within 10000 ms.", "NO_ANSWER_IN_TIME"],
  ["DNS", "Our own DNS server did not answer (EAI_AGAIN).", "OWN_DNS_FAILED"],
  ["CONNECT", "Our own network failed (ENETUNREACH).", "OWN_NETWORK_FAILED"],
  ["CONNECT", "The other side refused the connection (ECONNREFUSED).", "CONNECTION_REFUSED"],
  ["CONNECT", "The other side's answer was not valid HTTP.", "NOT_HTTP"],
  ["TLS", "The other side's certificate has expired (CERT_HAS_EXPIRED).", "CERTIFICATE_EXPIRED"],
  ["TLS", "No secure connection could be agreed (ERR_SSL_WRONG_VERSION_NUMBER).", "NOT_TLS"],
  ["CONNECT", "The connection failed (UNSPECIFIED).", "CERTIFICATE_REJECTED"],
  ["CONNECT", "The connection failed (PATH_LENGTH_EXCEEDED).", "CERTIFICATE_CHAIN_INVALID"],
  ["TLS", "A sentence that no version has written.", undefined],
  ["NON_2XX", "The callback answered 503; any 2xx acknowledges.", undefined],
])("reasonInText reads the reason from a row of an earlier version: %s, %s", (code, detail, reason) => {
  expect(reasonInText(code, detail)).toBe(reason);
});
