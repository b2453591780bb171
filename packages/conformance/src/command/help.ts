import { CHECKS } from "../checks/checks.ts";

export const HELP = `Tests your receiver and your mint endpoint with the requests of the service, and explains how to fix faults.

conformance --receiver URL --mint URL --secret SECRET --key-id ID [options]

The URLs to test, at least one
  --receiver URL               the callback for events
  --mint URL                   the endpoint that mints payment links
  --reconcile URL              runs your reconciliation with the payments in its body, for a test;
                               needs --service-port
                               https, or plain http on this machine

The key that your endpoints use
  --secret SECRET              sk_…, exactly as you received it; better in CONFORMANCE_SECRET
  --key-id ID                  lk_…, sent as X-Service-Key-Id
  --second-secret SECRET       the new key of a rotation, for receiver.key-rotation;
  --second-key-id ID           better give this secret in CONFORMANCE_SECOND_SECRET

Your system
  --mint-auth-header HEADER    "Name: value", the header that you registered for mint calls;
                               better in CONFORMANCE_MINT_AUTH_HEADER
  --loan NUMBER                a loan that your mint endpoint knows (LN-1001)
  --currency CODE              the currency of the links (INR)
  --lender-code CODE           your lender code in the events (CONFORMANCE)
  --state URL                  a URL that shows your state of a loan, with {loan} for the loan number. The checks
                               then see whether a duplicate counted twice, or a loan went back
  --state-lag SECONDS          the time that you may take to apply an event after your answer (5)
  --state-auth-header HEADER   "Name: value", if the state URL or the URL of --reconcile needs one;
                               better in CONFORMANCE_STATE_AUTH_HEADER
  --service-port PORT          the kit answers for the service on 127.0.0.1, so that your receiver can read
                               the case after a gap, and your reconciliation can call it: start them with
                               http://127.0.0.1:PORT as base URL

The checks
  --only NAMES                 run only some checks, such as receiver.duplicate,mint
  --timeout SECONDS            the time limit of a request (10, like the service)
  --json                       one JSON document on stdout
  --junit FILE                 also write a JUnit XML report
  --list                       list the checks
  --help                       show this text

Use a test system: the checks send events of loans that do not exist and requests for links of small amounts.
Nothing is sent to any other URL.

Exit codes: 0 no check failed · 1 a check failed · 2 invalid arguments, or a URL cannot be reached

Example:
  export CONFORMANCE_SECRET=sk_sandbox_… CONFORMANCE_MINT_AUTH_HEADER="X-Mint-Token: a-token-of-yours"
  node_modules/.bin/conformance --key-id lk_… \\
    --receiver http://localhost:4000/hooks/collections --mint http://localhost:4000/mint-link
`;

/** Returns the names and promises of all checks. */
export function listOfChecks(): string {
  return CHECKS.map(({ name, title }) => `${name.padEnd(30)}${title}\n`).join("");
}
