import { caseByLoan, storedLoanNumber } from "@collections/cases";
import { type AmountFault, AmountLiteral, readAmount } from "@collections/money";
import { testMint, type TestedMint } from "@collections/payment-links";
import type { LinkDeps } from "./link-jobs.ts";
import { mintCallOf, mintSetup } from "./mint-call.ts";

/** A test call of a lender's mint endpoint. */
export interface MintLinkTest {
  readonly lenderId: string;
  readonly loan: string;
  /** In major units of the case's currency. Null for one unit. */
  readonly amount: AmountLiteral | null;
  /**
   * A UUID. `visitId` and the Idempotency-Key are derived from it, so a repeat with the same UUID asks for the same
   * link.
   */
  readonly id: string;
}

/**
 * The result of `testMintLink`. `not_configured`: no call can be made. `abandoned`: this process is shutting down.
 * Both, and `refused`, mean that the lender was not called, or that the call was broken off.
 */
export type MintLinkTestOutcome =
  | { readonly kind: "tested"; readonly tested: TestedMint }
  | { readonly kind: "not_configured"; readonly detail: string }
  | { readonly kind: "refused"; readonly code: "LOAN_NOT_FOUND" | AmountFault; readonly detail: string }
  | { readonly kind: "abandoned" };

const ONE_UNIT = new AmountLiteral("1");

/**
 * Calls the lender's mint endpoint once, with the borrower's data of the loan's current case, as a link request of a
 * field partner does. Stores no link, changes no case and emits no event. Call it outside any transaction.
 * contract: POST mint-link/test
 *
 * @example
 * const outcome = await testMintLink(links, { lenderId, loan: "LN-1001", amount: null, id: crypto.randomUUID() });
 * if (outcome.kind === "tested") console.log(outcome.tested.link?.url ?? outcome.tested.error?.remedy);
 */
export async function testMintLink(
  deps: Pick<LinkDeps, "database" | "outbound" | "allow" | "credentials" | "vault" | "mintTimeoutMs">,
  { lenderId, loan, amount, id }: MintLinkTest,
): Promise<MintLinkTestOutcome> {
  const em = deps.database.em();
  const theCase = await caseByLoan(em, lenderId, await storedLoanNumber(em, lenderId, loan));
  if (!theCase) return refused("LOAN_NOT_FOUND", "There is no case of this loan; import it first.");
  if (theCase.erasedAt !== null) {
    return refused("LOAN_NOT_FOUND", "The borrower's personal data of this loan were erased; name another loan.");
  }
  const reading = readAmount(amount ?? ONE_UNIT, theCase.currency);
  if ("fault" in reading) return refused(reading.fault, reading.detail);
  const setup = await mintSetup(deps, lenderId);
  if ("unavailable" in setup) return { kind: "not_configured", detail: setup.detail };
  const wanted = { theCase, amountMinor: reading.minor, visitId: id, mintKey: `test_${id}` };
  const tested = await testMint(mintCallOf(deps, setup, wanted));
  return tested ? { kind: "tested", tested } : { kind: "abandoned" };
}

function refused(code: "LOAN_NOT_FOUND" | AmountFault, detail: string): MintLinkTestOutcome {
  return { kind: "refused", code, detail };
}
