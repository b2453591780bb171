import type { UnavailableReason } from "../link/unavailable-reason.ts";

/** The reasons of a failed mint call that a test call can have. */
export type MintFaultCode = Exclude<
  UnavailableReason,
  "outcome_unknown" | "not_configured" | "case_not_workable" | "amount_not_allowed" | "asked_too_long_ago"
>;

interface Remedy {
  readonly cause: string;
  readonly remedy: string;
}

/** Explains to the lender's engineers why a test call minted no link, and what to do. */
export function mintRemedy(code: MintFaultCode, status: number | null): Remedy {
  return code === "non_2xx" ? remedyForStatus(status ?? 0) : BY_CODE[code];
}

const BY_CODE: Readonly<Record<Exclude<MintFaultCode, "non_2xx">, Remedy>> = {
  timeout: {
    cause: "Your mint endpoint did not send a whole answer in time.",
    remedy: "Send the whole answer within 10 seconds, and do slow work that the link does not need after the answer.",
  },
  refused: {
    cause: "Your mint endpoint answered success: false.",
    remedy:
      "Look in your log for the reason, such as a loan that your system does not know, or a gateway that declined.",
  },
  bad_answer: {
    cause: "The answer of your mint endpoint is not the JSON that the contract describes.",
    remedy:
      'Answer {"success": true, "link": {"linkId": "…", "url": "https://…"}} as JSON in UTF-8. detail names the first fault.',
  },
  bad_url: {
    cause: "The link has a URL that the service does not send to a borrower.",
    remedy:
      "Answer with an https URL on a public host, which must be one of the hosts that you agreed on with the operator. detail names the broken rule.",
  },
  connect: {
    cause: "The connection to your mint endpoint failed.",
    remedy: "Check that your server runs, that the port of the mint URL is open, and that the port speaks HTTP/1.1.",
  },
  dns: {
    cause: "The host name of the mint URL could not be resolved.",
    remedy: "Look for a typing mistake in the registered URL, and check the DNS records of the host name.",
  },
  tls: {
    cause: "No TLS connection to your mint endpoint could be established.",
    remedy:
      "Serve TLS 1.2 or 1.3 with a valid certificate of a public authority and its intermediate certificates. detail has the reason.",
  },
  blocked_address: {
    cause: "The mint URL leads to an address that is not public, or is not an https URL.",
    remedy: "Ask the operator to register an https URL whose host name has only public addresses.",
  },
};

function remedyForStatus(status: number): Remedy {
  const [cause, remedy] = wordsForStatus(status);
  return { cause: `${cause} (${status}).`, remedy };
}

function wordsForStatus(status: number): readonly [cause: string, remedy: string] {
  if (status >= 300 && status < 400) {
    return [
      "Your mint endpoint redirected, and redirects are not followed",
      "Ask the operator to register the final URL, or answer 2xx at the registered URL.",
    ];
  }
  if (status >= 500) {
    return [
      "Your mint endpoint failed",
      "Look in the logs of the endpoint, and of the proxies in front of it, at the time of the call.",
    ];
  }
  return BY_STATUS[status] ?? ["Your mint endpoint rejected the request", "Look in your log for the reason."];
}

const NOT_TRUSTED = [
  "Your mint endpoint, or a proxy in front of it, did not accept the credentials of the request",
  "Verify the signature over the raw bytes of the body with the secret of the key in X-Service-Key-Id. Check your clock, and compare the registered auth header with the value that you expect.",
] as const;

const NO_ROUTE = [
  "Your server takes no POST at the path of the mint URL",
  "Compare the registered URL with the route of your mint endpoint, letter by letter, including a slash at the end.",
] as const;

const NOT_UNDERSTOOD = [
  "Your mint endpoint rejected the content of the request",
  "Compare request.body with what your endpoint checks. Ids are texts such as vis_…, and the Idempotency-Key of a test begins with test_.",
] as const;

const BY_STATUS: Readonly<Record<number, readonly [cause: string, remedy: string]>> = {
  400: NOT_UNDERSTOOD,
  401: NOT_TRUSTED,
  403: NOT_TRUSTED,
  404: NO_ROUTE,
  405: NO_ROUTE,
  415: NOT_UNDERSTOOD,
  422: NOT_UNDERSTOOD,
};
