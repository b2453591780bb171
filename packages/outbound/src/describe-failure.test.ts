import { expect, test } from "vitest";
import { describeFailure } from "./describe-failure.ts";

test.each<[Parameters<typeof describeFailure>[0], string]>([
  [{ reason: "URL_NOT_ALLOWED", urlProblem: "The URL must start with https://." }, "The URL must start with https://."],
  [{ reason: "ADDRESS_NOT_PUBLIC" }, "The host's name resolves to an address that is not public."],
  [{ reason: "NO_CONNECTION_IN_TIME" }, "No connection could be made in time."],
  [{ reason: "NO_CONNECTION_IN_TIME", timeoutMs: 300 }, "No connection was made within 300 ms."],
  [{ reason: "NO_ANSWER_IN_TIME", timeoutMs: 300 }, "No answer came within 300 ms."],
  [{ reason: "NAME_NOT_FOUND", systemCode: "ENOTFOUND" }, "The host's name has no address in the DNS (ENOTFOUND)."],
  [{ reason: "OWN_NETWORK_FAILED", systemCode: "ENETUNREACH" }, "Our own network failed (ENETUNREACH)."],
  [{ reason: "CONNECTION_REFUSED", systemCode: "ECONNREFUSED" }, "The server refused the connection (ECONNREFUSED)."],
  [
    { reason: "CERTIFICATE_KEY_TOO_WEAK", systemCode: "EE_KEY_TOO_SMALL", words: "EE certificate key too weak" },
    "A certificate of the server has a key that is too weak (EE_KEY_TOO_SMALL: EE certificate key too weak).",
  ],
  [{ reason: "NOT_HTTP" }, "The server's answer was not valid HTTP."],
  [{ reason: "ABORTED_BY_CALLER" }, "We gave up on the request before an answer came."],
])("%j is described in one sentence", (failure, sentence) => {
  expect(describeFailure(failure)).toBe(sentence);
});
