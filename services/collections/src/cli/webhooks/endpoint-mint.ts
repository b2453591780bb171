import { newId } from "@collections/database";
import { type MintLinkTestOutcome, onOneLine, testMintLink } from "@collections/flows";
import { AmountLiteral } from "@collections/money";
import type { TestedMint } from "@collections/payment-links";
import { Command } from "commander";
import { allowedForLinks } from "../../settings/link-hosts.ts";
import { EXIT, Refusal } from "../terminal/refusal.ts";
import { answer, lenderNamed, type Operator, withDatabase } from "../terminal/with-database.ts";
import { answerLines } from "./attempt-words.ts";
import { withOutbound } from "./with-webhook-sender.ts";

/** `endpoint mint`: call the mint endpoint of a lender as a test. */
export function mintCommand(): Command {
  return new Command("mint")
    .argument("<lender>", "the lender's code")
    .argument("<loan>", "the loan whose borrower the call names")
    .option("--amount <amount>", "the amount of the link, in major units", "1")
    .description("Call the mint endpoint once, as a test; the service stores no link and sends nothing.")
    .addHelpText(
      "after",
      `
The lender sees an Idempotency-Key that begins with test_. A link that was minted exists at the lender.
Exits with 1 when no link was minted.

Example:
  pnpm collections endpoint mint ACME LN-1001 --json`,
    )
    .action((code: string, loan: string, { amount }: { amount: string }) =>
      withDatabase((operator) => mint(operator, code, { loan, amount: new AmountLiteral(amount) })),
    );
}

async function mint(
  operator: Operator,
  code: string,
  { loan, amount }: { loan: string; amount: AmountLiteral },
): Promise<void> {
  const { config, database, vault, em } = operator;
  const lender = await lenderNamed(em(), code);
  const settings = { allow: allowedForLinks(config), mintTimeoutMs: config.mintTimeoutMs };
  const outcome = await withOutbound(operator, (parts) =>
    testMintLink({ database, vault, ...parts, ...settings }, { lenderId: lender.id, loan, amount, id: newId() }),
  );
  const tested = testedOf(outcome);
  answer({ lenderCode: lender.code, minted: tested.link !== null, ...tested }, textOf(tested));
  if (tested.link === null) process.exitCode = EXIT.refused;
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
