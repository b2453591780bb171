import { publicId } from "@collections/database";
import { type CreditedSum, linesOfPayout, listPayouts, payoutById, payoutByReference } from "@collections/earnings";
import {
  payoutPreview,
  payoutsDue,
  type PayoutToRecord,
  recordPayout,
  type RecordPayoutOutcome,
} from "@collections/flows";
import { type CurrencyCode, grouped, readAmount, toDecimal } from "@collections/money";
import { Command, InvalidArgumentError } from "commander";
import {
  carriedOver,
  deductionsText,
  lenderCodes,
  nextText,
  payableText,
  payoutText,
  shownLine,
  shownPayout,
} from "./payout-words.ts";
import { withCurrency } from "../../desk/amount-text.ts";
import { payable } from "../../desk/money/payable.ts";
import { formatOf, type PageOptions, printPage, withPageOptions } from "../terminal/page-options.ts";
import { readFieldPartnerCursor } from "./field-partner-read.ts";
import { type LocalMoment, readCurrency, readCursor, readDay, readSum, readUntil } from "../terminal/read-options.ts";
import { EXIT, notFound, Refusal } from "../terminal/refusal.ts";
import { answer, idOf, table, timeZoneOfFieldPartner, withDatabase } from "../terminal/with-database.ts";

const REFERENCE_CHARACTERS = 64;
const UNTIL = [
  "--until <when>",
  "only earnings and deductions credited up to this time, or up to the end of this day, in the field partner's local time; by default all",
] as const;

interface RecordOptions {
  currency: CurrencyCode;
  reference: string;
  paidOn: string;
  until?: string | LocalMoment;
  amount: string;
}

interface ListOptions extends PageOptions<string> {
  fieldPartner?: string;
}

/** `payout …`: shows and records payouts of credited earnings to field partners. */
export function payoutCommand(): Command {
  const command = new Command("payout").description("Pay field partners their credited earnings.");
  const due = command
    .command("due")
    .description("List every person to whom money is owed, by currency.")
    .addHelpText("after", "\nExample:\n  pnpm collections payout due --csv > payouts.csv");
  withPageOptions(due, readFieldPartnerCursor).action((options: PageOptions<string>) => listDue(options));
  command
    .command("preview")
    .argument("<field-partner-id>", "the person to pay")
    .option(...UNTIL, readUntil)
    .description("Show earnings that are credited and not paid out yet, by currency and lender.")
    .addHelpText("after", "\nExample:\n  pnpm collections payout preview fp_0192… --until 2026-11-20")
    .action((id: string, { until }: { until?: string | LocalMoment }) => preview(id, until));
  command
    .command("record")
    .argument("<field-partner-id>", "the person who was paid")
    .requiredOption("--currency <code>", "the currency of the payout", readCurrency)
    .requiredOption("--reference <text>", "the bank's reference of the transfer, such as its UTR", readReference)
    .requiredOption("--paid-on <day>", "the day of the transfer by the bank, such as 2026-11-21", readDay)
    .requiredOption(
      "--amount <sum>",
      "the amount that was sent, such as 1250.50; it must equal the credited amount",
      readSum,
    )
    .option(...UNTIL, readUntil)
    .description("Record that a person was paid the credited earnings.")
    .addHelpText(
      "after",
      `
The reference identifies the payout: the same command again changes nothing and prints the recorded payout. With --until, give
the time that payout preview has shown. Earnings and deductions that are credited later are then left for the next payout.

Example:
  pnpm collections payout record fp_0192… --currency INR --reference UTR123 --paid-on 2026-11-21 --amount 1250.50 \\
    --until 2026-11-20T09:41:07.123Z`,
    )
    .action((id: string, options: RecordOptions) => record(id, options));
  withPageOptions(command.command("list").description("List payouts, the latest first."), readCursor)
    .option("--field-partner <id>", "only payouts to this person")
    .addHelpText("after", "\nExample:\n  pnpm collections payout list --field-partner fp_0192…")
    .action((options: ListOptions) => list(options));
  command
    .command("show")
    .argument("<payout>", "the id or the reference of the payout")
    .description("Show a payout with each earning that it has paid.")
    .addHelpText("after", "\nExample:\n  pnpm collections payout show UTR123")
    .action((name: string) => show(name));
  return command;
}

async function listDue({ limit, cursor, csv }: PageOptions<string>): Promise<void> {
  const format = formatOf({ csv });
  await withDatabase(async ({ em }) => {
    const { due, next } = await payoutsDue(em(), { after: cursor, limit });
    const items = due.flatMap(({ fieldPartner, credited }) =>
      payable(credited, new Map()).map(({ currency, amount, lines }) => ({
        fieldPartnerId: publicId("fp", fieldPartner.id),
        displayName: fieldPartner.displayName,
        state: fieldPartner.state,
        currency,
        amount,
        lines,
      })),
    );
    printPage(format, {
      name: "due",
      items,
      nextCursor: next === null ? null : publicId("fp", next),
      fields: ["fieldPartnerId", "displayName", "state", "currency", "amount", "lines"],
      columns: {
        "FIELD PARTNER": ({ fieldPartnerId }) => fieldPartnerId,
        NAME: ({ displayName }) => displayName,
        STATE: ({ state }) => state,
        AMOUNT: ({ amount, currency }) => withCurrency(amount, currency),
        EARNINGS: ({ lines }) => String(lines),
      },
      none: "No money is owed.",
    });
  });
}

async function preview(given: string, wanted: string | LocalMoment | undefined): Promise<void> {
  await withDatabase(async ({ em }) => {
    const id = idOf("fp", "field partner", given);
    const timeZone = await timeZoneOfFieldPartner(em(), id);
    const until = untilOf(wanted, timeZone);
    const found = await payoutPreview(em(), id, until);
    if (!found) throw notFound("field partner", given);
    const codes = await lenderCodes(em());
    const [sums, carried] = [payable(found.credited, codes), carriedOver(found.carried, codes)];
    const asOf = found.asOf?.toISOString() ?? null;
    const fieldPartnerId = publicId("fp", id);
    const next = nextText(sums, { fieldPartnerId, asOf });
    const text = [payableText(sums, found.asOf, timeZone) + deductionsText(sums, carried), ...next].join("\n");
    answer({ fieldPartnerId, until, asOf, payable: sums, carried }, text);
  });
}

async function record(given: string, { amount, ...said }: RecordOptions): Promise<void> {
  const amountMinor = minorOf(amount, said.currency);
  await withDatabase(async ({ em }) => {
    const fieldPartnerId = idOf("fp", "field partner", given);
    const timeZone = await timeZoneOfFieldPartner(em(), fieldPartnerId);
    const wanted = { ...said, fieldPartnerId, until: untilOf(said.until, timeZone), amountMinor };
    const outcome = await recordPayout(em(), wanted);
    if (outcome.kind !== "recorded" && outcome.kind !== "repeated") throw refusalOf(outcome, wanted, given);
    const { kind, payout } = outcome;
    const shown = shownPayout(payout, await lenderCodes(em()));
    const text = kind === "recorded" ? "Recorded." : "This payout was already recorded; nothing was changed.";
    answer({ outcome: kind, ...shown }, `${text}\n${payoutText(shown)}`);
  });
}

/** Returns a day unchanged, and a moment as ISO 8601 in UTC. */
function untilOf(until: string | LocalMoment | undefined, timeZone: string): string | null {
  return typeof until === "function" ? until(timeZone).toISOString() : (until ?? null);
}

async function list({ fieldPartner, cursor, limit, csv }: ListOptions): Promise<void> {
  const format = formatOf({ csv });
  await withDatabase(async ({ em }) => {
    const fieldPartnerId = fieldPartner === undefined ? undefined : idOf("fp", "field partner", fieldPartner);
    const { payouts, hasNext } = await listPayouts(em(), { fieldPartnerId, after: cursor, limit });
    const codes = await lenderCodes(em());
    printPage(format, {
      name: "payouts",
      items: payouts.map((payout) => shownPayout(payout, codes)),
      nextCursor: hasNext ? payouts.at(-1)!.id : null,
      fields: ["payoutId", "fieldPartnerId", "paidOn", "currency", "amount", "lines", "reference"],
      columns: {
        PAYOUT: ({ payoutId }) => payoutId,
        "FIELD PARTNER": ({ fieldPartnerId: paid }) => paid,
        "PAID ON": ({ paidOn }) => paidOn,
        CURRENCY: ({ currency }) => currency,
        AMOUNT: ({ amount, currency }) => grouped(amount, currency),
        EARNINGS: ({ lines }) => String(lines),
        REFERENCE: ({ reference }) => reference,
      },
      none: "No payouts.",
    });
  });
}

async function show(name: string): Promise<void> {
  await withDatabase(async ({ em }) => {
    const payout = /^po_[0-9a-f]{32}$/.test(name)
      ? await payoutById(em(), idOf("po", "payout", name))
      : await payoutByReference(em(), name.trim());
    if (!payout) throw notFound("payout", name);
    const codes = await lenderCodes(em());
    const shown = shownPayout(payout, codes);
    const earnings = (await linesOfPayout(em(), payout)).map((line) => shownLine(line, codes));
    const rows = earnings.map((line) => [
      line.lenderCode,
      line.sourceLoanNumber,
      grouped(line.amount, shown.currency),
      line.formula,
    ]);
    const lines = table([["LENDER", "LOAN", "AMOUNT", "FORMULA"], ...rows]);
    answer({ ...shown, earnings }, `${payoutText(shown)}\n${lines}`);
  });
}

function refusalOf(
  outcome: Exclude<RecordPayoutOutcome, { kind: "recorded" | "repeated" }>,
  { currency, reference, amountMinor }: PayoutToRecord,
  given: string,
): Refusal {
  switch (outcome.kind) {
    case "field_partner_not_found":
      return notFound("field partner", given);
    case "in_future": {
      const option = outcome.field === "paidOn" ? "--paid-on" : "--until";
      const isMoment = outcome.today.includes("T");
      const current = isMoment ? "the time now is" : "today is";
      return new Refusal("DATE_IN_FUTURE", `${option} is in the future; ${current} ${outcome.today}.`);
    }
    case "nothing_to_pay":
      return new Refusal("NOTHING_TO_PAY", `Nothing is credited in ${currency}${elsewhere(outcome.credited)}.`);
    case "amount_differs": {
      const credited = `The credited earnings are ${toDecimal(outcome.creditedMinor, currency)} ${currency}`;
      return new Refusal(
        "AMOUNT_DIFFERS",
        `${credited}, ${whatToDo(outcome.reachedAt, toDecimal(amountMinor, currency))}`,
      );
    }
    case "paid_before_credited": {
      const why = "--paid-on is before the first of these earnings was credited";
      return new Refusal("DATE_TOO_EARLY", `${why}; the earliest possible day is ${outcome.earliest}.`);
    }
    case "reference_taken": {
      const known = `${publicId("po", outcome.payout.id)}, which differs in ${outcome.differences.join(" and ")}`;
      return new Refusal(
        "REFERENCE_TAKEN",
        `The reference ${reference} belongs to the payout ${known}; see payout show.`,
      );
    }
  }
}

/** Says what to do if the amount that was sent differs from the credited amount. */
function whatToDo(reachedAt: Date | undefined, sent: string): string {
  if (reachedAt === undefined) {
    return `not ${sent}. Check the bank transfer and the output of payout preview; "Pay field partners" in docs/operations.md says what to do.`;
  }
  const until = reachedAt.toISOString();
  return `and those credited until ${until} are ${sent}. If that amount was sent, record it with --until ${until}.`;
}

function elsewhere(credited: readonly CreditedSum[]): string {
  const currencies = [...new Set(credited.map(({ currency }) => currency))];
  return currencies.length === 0 ? "" : `, only in ${currencies.join(" and ")}`;
}

function minorOf(text: string, currency: CurrencyCode): bigint {
  const reading = readAmount(text, currency);
  if ("minor" in reading) return reading.minor;
  throw new Refusal(reading.fault, `--amount: ${reading.detail}`, EXIT.notUnderstood);
}

/**
 * Reads and trims a reference. Control characters are rejected, because the reference is recorded in the books and
 * shown to the field partner.
 */
function readReference(text: string): string {
  const reference = text.trim();
  if (/^[\x20-\x7e]+$/.test(reference) && reference.length <= REFERENCE_CHARACTERS) return reference;
  throw new InvalidArgumentError(`Expected 1 to ${REFERENCE_CHARACTERS} printable ASCII characters.`);
}
