import { publicId } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { type CreditedSum, type Earning, formula, type Payout } from "@collections/earnings";
import { listLenders } from "@collections/lenders";
import { grouped, toDecimal } from "@collections/money";
import { withCurrency } from "../../desk/amount-text.ts";
import type { payable } from "../../desk/money/payable.ts";
import { momentText } from "../terminal/local-time.ts";
import { table } from "../terminal/with-database.ts";

type Codes = ReadonlyMap<string, string>;

/** Returns a map from lender ids to lender codes. */
export async function lenderCodes(em: EntityManager): Promise<Codes> {
  return new Map((await listLenders(em)).map(({ id, code }) => [id, code]));
}

/** Returns the sums of 0 or less as JSON: what a field partner owes to each lender until more is credited. */
export function carriedOver(carried: readonly CreditedSum[], codes: Codes) {
  return carried.map(({ lenderId, currency, lines, amountMinor, deductedMinor }) => ({
    lenderCode: codes.get(lenderId) ?? null,
    currency,
    owed: toDecimal(-amountMinor, currency),
    deducted: toDecimal(deductedMinor, currency),
    lines,
  }));
}

/** Returns a line for each lender whose payments were reversed; empty if there is none. */
export function deductionsText(sums: ReturnType<typeof payable>, carried: ReturnType<typeof carriedOver>): string {
  const deducted = sums.flatMap(({ currency, lenders }) =>
    lenders
      .filter((part) => Number(part.deducted) > 0)
      .map(
        (part) =>
          `${part.lenderCode}: ${withCurrency(part.deducted, currency)} are deducted, because payments were reversed.`,
      ),
  );
  const owed = carried.map(
    (part) =>
      `${part.lenderCode}: ${withCurrency(part.owed, part.currency)} are carried over, until more is credited by this lender.`,
  );
  return [...deducted, ...owed].map((line) => `\n${line}`).join("");
}

export function payableText(sums: ReturnType<typeof payable>, asOf: Date | null, timeZone: string): string {
  if (asOf === null) return "Nothing to pay.";
  const rows = sums.flatMap(({ currency, amount, lines, lenders }) => [
    ...lenders.map((part) => [part.lenderCode ?? "", currency, grouped(part.amount, currency), String(part.lines)]),
    ["all", currency, grouped(amount, currency), String(lines)],
  ]);
  const shown = table([["LENDER", "CURRENCY", "AMOUNT", "EARNINGS"], ...rows]);
  const recorded = `after sending the money, run payout record with --until ${asOf.toISOString()} and the sent --amount`;
  return `${shown}\nAs of ${momentText(asOf, timeZone)}: ${recorded}.`;
}

/** Returns a command for each currency, which records the payout with its exact amount. */
export function nextText(
  sums: ReturnType<typeof payable>,
  { fieldPartnerId, asOf }: { readonly fieldPartnerId: string; readonly asOf: string | null },
): string[] {
  if (asOf === null) return [];
  return sums.map(
    ({ currency, amount }) =>
      `Next: payout record ${fieldPartnerId} --currency ${currency} --amount ${amount} --until ${asOf} --reference <bank-reference> --paid-on <day>`,
  );
}

/** Returns a payout as `--json` shows it. */
export function shownPayout(payout: Payout, codes: Codes) {
  const { id, fieldPartnerId, currency, reference, paidOn, until, recordedAt, lines, amountMinor, parts } = payout;
  return {
    payoutId: publicId("po", id),
    fieldPartnerId: publicId("fp", fieldPartnerId),
    reference,
    paidOn,
    until,
    currency,
    amount: toDecimal(amountMinor, currency),
    lines,
    recordedAt: recordedAt.toISOString(),
    lenders: parts.map((part) => ({
      lenderCode: codes.get(part.lenderId) ?? null,
      amount: toDecimal(part.amountMinor, currency),
      lines: part.lines,
    })),
  };
}

export function payoutText(shown: ReturnType<typeof shownPayout>): string {
  const { payoutId, fieldPartnerId, reference, paidOn, until, currency, amount, lines, lenders } = shown;
  const earnings = lines === 1 ? "1 earning" : `${lines} earnings`;
  const untilWhen = until === null ? "" : `, credited until ${until}`;
  return [
    `${payoutId}: ${withCurrency(amount, currency)} to ${fieldPartnerId} on ${paidOn} by ${reference}, for ${earnings}${untilWhen}.`,
    ...lenders.map((part) => `  ${part.lenderCode ?? ""}: ${grouped(part.amount, currency)} for ${part.lines}`),
  ].join("\n");
}

/** Returns an earning of a payout as `--json` shows it. */
export function shownLine(line: Earning, codes: Codes) {
  return {
    lenderCode: codes.get(line.lenderId) ?? "",
    caseId: publicId("case", line.caseId),
    sourceLoanNumber: line.sourceLoanNumber,
    reference: line.reference,
    amount: toDecimal(line.amountMinor, line.currency),
    formula: formula(line),
    earnedAt: line.earnedAt.toISOString(),
    creditedAt: line.creditedAt?.toISOString() ?? null,
  };
}
