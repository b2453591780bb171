import { CHECKS } from "../checks/checks.ts";

export const HELP = `Tests your receiver and your mint endpoint as the service will call them, and says what to mend.

conformance --receiver URL --mint URL --secret SECRET --key-id ID [options]

What to test, at least one
  --receiver URL               the callback for events
  --mint URL                   the endpoint that makes payment links
                               https, or http on this machine

The key that your endpoints know
  --secret SECRET              sk_…, as you got it; better in CONFORMANCE_SECRET
  --key-id ID                  lk_…, sent as X-Service-Key-Id
  --second-secret SECRET       a key that takes over, for the check of a rotation;
  --second-key-id ID           the secret better in CONFORMANCE_SECOND_SECRET

About your side
  --mint-auth-header HEADER    "Name: value", the header that you registered for mint calls;
                               better in CONFORMANCE_MINT_AUTH_HEADER
  --loan NUMBER                a loan that your mint endpoint knows (LN-1001)
  --currency CODE              of the links (INR)
  --lender-code CODE           your code, as events have it (CONFORMANCE)
  --state URL                  shows what you hold of a loan, {loan} in its place: with it the kit sees
                               whether a duplicate was counted twice, or a loan went back
  --state-lag SECONDS          how long your side may work on an event after its answer (5)
  --state-auth-header HEADER   "Name: value", if that URL needs one;
                               better in CONFORMANCE_STATE_AUTH_HEADER
  --service-port PORT          answers for the service on 127.0.0.1, so that your receiver can read the
                               case after a gap: start it with http://127.0.0.1:PORT as base URL

The run
  --only NAMES                 some checks only, such as receiver.duplicate,mint
  --timeout SECONDS            for each request (10, as the service has it)
  --json                       one JSON document on stdout
  --junit FILE                 writes JUnit's XML too
  --list                       shows the names of the checks
  --help                       this text

Use a test system: events of loans that nobody has and wishes for links of small amounts are sent. Nothing
is sent anywhere but to these URLs.

Exit codes: 0 no check failed · 1 one did · 2 not understood, or a URL cannot be reached

Example:
  export CONFORMANCE_SECRET=sk_sandbox_… CONFORMANCE_MINT_AUTH_HEADER="X-Mint-Token: a-token-of-yours"
  npx @collections/conformance --key-id lk_… \\
    --receiver http://localhost:4000/hooks/collections --mint http://localhost:4000/mint-link
`;

/** The names of all checks with their promises. */
export function listOfChecks(): string {
  return CHECKS.map(({ name, title }) => `${name.padEnd(30)}${title}\n`).join("");
}
