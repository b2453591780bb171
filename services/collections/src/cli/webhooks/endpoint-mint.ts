import { caseByLoan, maskedPhone } from "@collections/cases";
import { newId, publicId, transaction } from "@collections/database";
import { type MintLinkTestOutcome, onOneLine, testMintLink } from "@collections/flows";
import { recordAct } from "@collections/lenders";
import { AmountLiteral, readAmount } from "@collections/money";
import type { TestedMint } from "@collections/payment-links";
import { Command } from "commander";
import { allowedForLinks } from "../../settings/link-hosts.ts";
import { readReason } from "../terminal/read-options.ts";
import { EXIT, notFound, Refusal } from "../terminal/refusal.ts";
import { answer, lenderNamed, loanNamed, type Operator, withDatabase } from "../terminal/with-database.ts";
import { answerLines } from "./attempt-words.ts";
import { withOutbound } from "./with-webhook-sender.ts";

/** `endpoint mint`: call the mint endpoint of a lender as a test. */
export function mintCommand(): Command {
  return new Command("mint")
    .argument("<lender>", "the lender's code")
    .argument("<loan>", "the loan whose borrower the call names")
    .option("--amount <amount>", "the amount of the link, in major units", "1")
    .option("--with-contact", "show the borrower's full phone number in the request; needs --reason")
    .option("--reason <text>", "the reason, for the audit log", readReason)
    .description("Call the mint endpoint once, as a test; the service stores no link and sends nothing.")
    .addHelpText(
      "after",
      `
The lender sees an Idempotency-Key that begins with test_. A link that was minted exists at the lender. The lender gets the full
phone number of the borrower; the output masks it, unless --with-contact is given.
Exits with 1 when no link was minted.

Example:
  pnpm collections endpoint mint ACME LN-1001 --json`,
    )
    .action((code: string, loan: string, options: MintOptions) => {
      if (options.withContact && options.reason === undefined) {
        const detail = "--with-contact needs --reason: the audit log records who saw the contact data, and why.";
        throw new Refusal("REQUIRED", detail, EXIT.notUnderstood);
      }
      return withDatabase((operator) => mint(operator, { code, loan }, options));
    });
}

interface MintOptions {
  amount: string;
  withContact?: true;
  reason?: string;
}

async function mint(
  operator: Operator,
  { code, loan }: { readonly code: string; readonly loan: string },
  { amount, withContact, reason }: MintOptions,
): Promise<void> {
  const { config, database, vault, em } = operator;
  const lender = await lenderNamed(em(), code);
  const settings = { allow: allowedForLinks(config), mintTimeoutMs: config.mintTimeoutMs };
  const stored = await loanNamed(em(), lender, loan);
  const theCase = await caseByLoan(em(), lender.id, stored);
  if (!theCase) throw notFound("loan", loan);
  const literal = new AmountLiteral(amount);
  const reading = readAmount(literal, theCase.currency);
  if ("fault" in reading) throw new Refusal(reading.fault, reading.detail, EXIT.notUnderstood);
  // Recorded before the call, because the call sends the borrower's contact data to the lender.
  await transaction(em(), async (tx) => {
    const data = { loan: stored, amount };
    recordAct(tx, { lenderId: lender.id, act: "endpoint.mint_tested", reason, data });
    const seen = { loan: stored, cases: [publicId("case", theCase.id)] };
    if (withContact) recordAct(tx, { lenderId: lender.id, act: "contact.revealed", reason, data: seen });
  });
  const request = { lenderId: lender.id, loan: stored, amount: literal, id: newId() };
  const outcome = await withOutbound(operator, (parts) =>
    testMintLink({ database, vault, ...parts, ...settings }, request),
  );
  const made = testedOf(outcome);
  const tested = withContact ? made : withoutContact(made);
  answer({ lenderCode: lender.code, minted: tested.link !== null, ...tested }, textOf(tested));
  if (tested.link === null) process.exitCode = EXIT.refused;
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

/** Returns the test. Throws a Refusal if no call was made. */
function testedOf(outcome: MintLinkTestOutcome): TestedMint {
  switch (outcome.kind) {
    case "tested":
      return outcome.tested;
    case "not_configured":
      throw new Refusal("MINT_URL_NOT_CONFIGURED", outcome.detail);
    case "abandoned":
      throw new Refusal("SERVICE_UNAVAILABLE", "The call was broken off; run the command again.", EXIT.unavailable);
    case "refused":
      throw new Refusal(
        outcome.code,
        outcome.detail,
        outcome.code === "LOAN_NOT_FOUND" ? EXIT.notFound : EXIT.notUnderstood,
      );
  }
}

function textOf({ request, response, link, error, durationMs }: TestedMint): string {
  return [
    `POST ${request.url}`,
    ...Object.entries(request.headers).map(([name, value]) => `  ${name}: ${value}`),
    `  ${request.body}`,
    `${link ? "Minted" : "Not minted"} after ${Math.round(durationMs)} ms:`,
    ...(response
      ? answerLines(response.status, response.headers, response.body)
      : [`  ${onOneLine(error?.detail ?? "")}`]),
    ...(link ? [`Link    ${onOneLine(link.linkId)} ${link.url}`] : []),
    ...(error
      ? [
          `Reason  ${error.code}: ${onOneLine(error.detail)}`,
          `Cause   ${onOneLine(error.cause)}`,
          `Remedy  ${onOneLine(error.remedy)}`,
        ]
      : []),
  ].join("\n");
}
