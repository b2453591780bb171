import { caseByLoan, maskedPhone, storedLoanNumber } from "@collections/cases";
import { newId, publicId, transaction } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { type MintLinkTestOutcome, onOneLine } from "@collections/flows";
import { type Lender, recordAct } from "@collections/lenders";
import { type AmountFault, AmountLiteral, readAmount } from "@collections/money";
import type { TestedMint } from "@collections/payment-links";
import type { DeskOutcome } from "../acts.ts";
import { type ConnectionActing, lenderIn, requestLines, requestText, type TestedCall, whyTooOften } from "./acting.ts";
import { answerLines } from "./answer-lines.ts";

/** A test of a mint endpoint with the borrower of a loan. */
export interface MintTest {
  readonly lender: Lender;
  readonly loan: string;
  /** A decimal in major units. */
  readonly amount: string;
  readonly reason: string | undefined;
  /** Whether the caller sees the borrower's contact data. The audit records it. */
  readonly withContact: boolean;
}

/** The outcome of a test. The request and the answer have no contact data unless they were asked for. */
export type AuditedMintTest =
  | Exclude<MintLinkTestOutcome, { kind: "tested" }>
  | { readonly kind: "unknown_loan" }
  | { readonly kind: "bad_amount"; readonly code: AmountFault; readonly detail: string }
  | { readonly kind: "tested"; readonly tested: TestedMint };

/** Calls the mint endpoint of a lender once as a test, and records it in the audit. */
export async function auditedMintTest(
  { em, testMintLink }: { readonly em: () => EntityManager } & Pick<ConnectionActing, "testMintLink">,
  { lender, loan: given, amount, reason, withContact }: MintTest,
): Promise<AuditedMintTest> {
  const loan = await storedLoanNumber(em(), lender.id, given.trim());
  const theCase = await caseByLoan(em(), lender.id, loan);
  if (!theCase) return { kind: "unknown_loan" };
  const literal = new AmountLiteral(amount);
  const reading = readAmount(literal, theCase.currency);
  if ("fault" in reading) return { kind: "bad_amount", code: reading.fault, detail: reading.detail };
  // Recorded before the call, because the call sends the borrower's contact data to the lender.
  await transaction(em(), async (tx) => {
    recordAct(tx, { lenderId: lender.id, act: "endpoint.mint_tested", reason, data: { loan, amount } });
    const seen = { loan, cases: [publicId("case", theCase.id)] };
    if (withContact) recordAct(tx, { lenderId: lender.id, act: "contact.revealed", reason, data: seen });
  });
  const outcome = await testMintLink({ lenderId: lender.id, loan, amount: literal, id: newId() });
  if (outcome.kind !== "tested" || withContact) return outcome;
  return { kind: "tested", tested: withoutContact(outcome.tested) };
}

/** Returns a test call as lines of text: its request, its answer, and the link or what was wrong. */
export function mintLines({ request, response, link, error, durationMs }: TestedMint) {
  return {
    request: requestLines(request),
    headline: `${link ? "Minted" : "Not minted"} after ${Math.round(durationMs)} ms:`,
    answer: response
      ? answerLines(response.status, response.headers, response.body)
      : [`  ${onOneLine(error?.detail ?? "")}`],
    link: link ? `${onOneLine(link.linkId)} ${link.url}` : undefined,
    failure: error && {
      reason: `${error.code}: ${onOneLine(error.detail)}`,
      cause: onOneLine(error.cause),
      remedy: onOneLine(error.remedy),
    },
  };
}

/** Calls the mint endpoint of a lender as a test, for a page. The page shows no contact data. */
export async function testMintFromDesk(
  acting: ConnectionActing,
  { lenderCode, loan, amount }: { readonly lenderCode: string; readonly loan: string; readonly amount: string },
): Promise<Exclude<DeskOutcome, { kind: "done" }> | { readonly kind: "tested"; readonly call: TestedCall }> {
  const lender = await lenderIn(acting, lenderCode);
  if (!lender) return { kind: "not_found" };
  const tooOften = await whyTooOften(acting, lender, "mint-link-test");
  if (tooOften !== undefined) return { kind: "refused", detail: tooOften };
  const outcome = await auditedMintTest(acting, { lender, loan, amount, reason: undefined, withContact: false });
  switch (outcome.kind) {
    case "tested":
      return { kind: "tested", call: callOf(outcome.tested) };
    case "bad_amount":
      return { kind: "refused", detail: `Amount: ${outcome.detail}` };
    case "unknown_loan":
      return { kind: "refused", detail: `There is no case of the loan ${loan.trim()}. Import it first.` };
    case "not_configured":
    case "refused":
      return { kind: "refused", detail: outcome.detail };
    case "abandoned":
      return { kind: "refused", detail: "The call was broken off. Send the form again." };
  }
}

function callOf(tested: TestedMint): TestedCall {
  const { request, answer, link, failure } = mintLines(tested);
  const took = `${Math.round(tested.durationMs)} ms`;
  return {
    isAnswered: link !== undefined,
    headline:
      link === undefined
        ? `No link was minted after ${took}: ${failure?.reason ?? ""}`
        : `A link was minted after ${took}. It is not stored here: cancel it at the lender. Its id and URL: ${link}`,
    request: requestText(request),
    answer: answer.map((line) => line.trimStart()).join("\n"),
    failure,
  };
}

/** Masks the borrower's phone number in the request, and where the lender's answer repeats it. */
function withoutContact(tested: TestedMint): TestedMint {
  const { borrowerPhone } = JSON.parse(tested.request.body) as { borrowerPhone: string };
  const masked = (text: string) =>
    borrowerPhone === "" ? text : text.replaceAll(borrowerPhone.slice(1), maskedPhone(borrowerPhone));
  const { request, response } = tested;
  return {
    ...tested,
    request: { ...request, body: masked(request.body) },
    response: response && { ...response, body: masked(response.body) },
  };
}
