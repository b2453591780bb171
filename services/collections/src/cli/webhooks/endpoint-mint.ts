import { type MintLinkTest, testMintLink as testMint } from "@collections/flows";
import type { TestedMint } from "@collections/payment-links";
import { Command } from "commander";
import { allowedForLinks } from "../../settings/link-hosts.ts";
import { type AuditedMintTest, auditedMintTest, mintLines } from "../../desk/connection/mint-test.ts";
import { readReason } from "../terminal/read-options.ts";
import { EXIT, notFound, Refusal } from "../terminal/refusal.ts";
import { answer, lenderNamed, type Operator, withDatabase } from "../terminal/with-database.ts";
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
  const testMintLink = (request: MintLinkTest) =>
    withOutbound(operator, (parts) => testMint({ database, vault, ...parts, ...settings }, request));
  const test = { lender, loan, amount, reason, withContact: withContact === true };
  const tested = testedOf(await auditedMintTest({ em, testMintLink }, test), loan);
  answer({ lenderCode: lender.code, minted: tested.link !== null, ...tested }, textOf(tested));
  if (tested.link === null) process.exitCode = EXIT.refused;
}

/** Returns the test. Throws a Refusal if no call was made. */
function testedOf(outcome: AuditedMintTest, loan: string): TestedMint {
  switch (outcome.kind) {
    case "tested":
      return outcome.tested;
    case "bad_amount":
      throw new Refusal(outcome.code, outcome.detail, EXIT.notUnderstood);
    case "not_configured":
      throw new Refusal("MINT_URL_NOT_CONFIGURED", outcome.detail);
    case "abandoned":
      throw new Refusal("SERVICE_UNAVAILABLE", "The call was broken off; run the command again.", EXIT.unavailable);
    case "unknown_loan":
      throw notFound("loan", loan);
    case "refused":
      throw new Refusal(
        outcome.code,
        outcome.detail,
        outcome.code === "LOAN_NOT_FOUND" ? EXIT.notFound : EXIT.notUnderstood,
      );
  }
}

function textOf(tested: TestedMint): string {
  const { request, headline, answer: lines, link, failure } = mintLines(tested);
  return [
    ...request,
    headline,
    ...lines,
    ...(link === undefined ? [] : [`Link    ${link}`]),
    ...(failure ? [`Reason  ${failure.reason}`, `Cause   ${failure.cause}`, `Remedy  ${failure.remedy}`] : []),
  ].join("\n");
}
