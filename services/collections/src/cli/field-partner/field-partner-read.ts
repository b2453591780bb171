import { caseCountsOf, lastVisitBy, assignedWorkOf } from "@collections/cases";
import { parsePublicId, publicId } from "@collections/database";
import { creditedSums } from "@collections/earnings";
import {
  fieldPartnerById,
  type FieldPartnerState,
  openSessionsOf,
  searchFieldPartners,
} from "@collections/field-partners";
import { toDecimal } from "@collections/money";
import { type Command, InvalidArgumentError, Option } from "commander";
import { withCurrency } from "../../desk/amount-text.ts";
import { openCases, shownPerson } from "../../desk/shown-person.ts";
import { momentText } from "../terminal/local-time.ts";
import { formatOf, type PageOptions, printPage, withPageOptions } from "../terminal/page-options.ts";
import { notFound } from "../terminal/refusal.ts";
import { answer, idOf, table, withDatabase } from "../terminal/with-database.ts";
import { lenderCodes } from "./payout-words.ts";

interface ListOptions extends PageOptions<string> {
  state?: FieldPartnerState;
  search?: string;
}

/** Adds `field-partner list` and `field-partner show`. */
export function addReadCommands(command: Command): void {
  const list = command.command("list").description("List field partners with the number of their open cases.");
  withPageOptions(list, readFieldPartnerCursor)
    .addOption(new Option("--state <state>", "only people in this state").choices(["active", "suspended"]))
    .option("--search <text>", "only people whose name contains this text, or whose phone ends with these digits")
    .addHelpText("after", "\nExample:\n  pnpm collections field-partner list --search 0001")
    .action((options: ListOptions) => listPeople(options));
  command
    .command("show")
    .argument("<id>", "the field partner's id")
    .description(
      "Show a person: cases by lender and status, promises, last visit, sessions, and the amounts to pay out.",
    )
    .addHelpText("after", "\nExample:\n  pnpm collections field-partner show fp_0192…")
    .action((id: string) => show(id));
}

async function listPeople({ limit, cursor, csv, state, search }: ListOptions): Promise<void> {
  const format = formatOf({ csv });
  await withDatabase(async ({ em }) => {
    const text = search?.normalize().trim();
    const found = await searchFieldPartners(em(), { state, text, after: cursor, limit: limit + 1 });
    const people = found.slice(0, limit);
    const counts = Map.groupBy(
      await caseCountsOf(
        em(),
        people.map(({ id }) => id),
      ),
      ({ fieldPartnerId }) => fieldPartnerId,
    );
    printPage(format, {
      name: "fieldPartners",
      items: people.map((one) => ({ ...shownPerson(one), openCases: openCases(counts.get(one.id) ?? []) })),
      nextCursor: found.length > limit ? publicId("fp", people.at(-1)!.id) : null,
      fields: ["fieldPartnerId", "displayName", "phone", "state", "timeZone", "openCases", "createdAt"],
      columns: {
        "FIELD PARTNER": ({ fieldPartnerId }) => fieldPartnerId,
        NAME: ({ displayName }) => displayName,
        PHONE: ({ phone }) => phone,
        STATE: ({ state: current }) => current,
        "OPEN CASES": (one) => String(one.openCases),
      },
      none: "No field partner matches.",
    });
  });
}

async function show(given: string): Promise<void> {
  await withDatabase(async ({ em }) => {
    const id = idOf("fp", "field partner", given);
    const person = await fieldPartnerById(em(), id);
    if (!person) throw notFound("field partner", given);
    const codes = await lenderCodes(em());
    const counts = await caseCountsOf(em(), [id]);
    const { promises } = await assignedWorkOf(em(), id);
    const lastVisit = await lastVisitBy(em(), id);
    const sessions = await openSessionsOf(em(), id, new Date());
    const shown = {
      ...shownPerson(person),
      openCases: openCases(counts),
      openPromises: promises,
      cases: counts.map(({ lenderId, status, cases }) => ({ lenderCode: codes.get(lenderId) ?? null, status, cases })),
      lastVisitAt: lastVisit?.startedAt.toISOString() ?? null,
      sessions: sessions.map(({ deviceName, issuedAt, refreshedAt, expiresAt }) => ({
        deviceName,
        signedInAt: issuedAt.toISOString(),
        lastUsedAt: (refreshedAt ?? issuedAt).toISOString(),
        expiresAt: expiresAt.toISOString(),
      })),
      toPayOut: (await creditedSums(em(), id)).map(({ lenderId, currency, amountMinor, lines }) => ({
        lenderCode: codes.get(lenderId) ?? null,
        amount: toDecimal(amountMinor, currency),
        currency,
        lines,
      })),
    };
    answer(shown, textOf(shown));
  });
}

type ShownPerson = ReturnType<typeof shownPerson>;

function textOf(
  shown: ShownPerson & {
    readonly openCases: number;
    readonly openPromises: number;
    readonly cases: readonly { readonly lenderCode: string | null; readonly status: string; readonly cases: number }[];
    readonly lastVisitAt: string | null;
    readonly sessions: readonly { readonly deviceName: string | null; readonly lastUsedAt: string }[];
    readonly toPayOut: readonly {
      readonly lenderCode: string | null;
      readonly amount: string;
      readonly currency: string;
    }[];
  },
): string {
  const at = (moment: string) => momentText(new Date(moment), shown.timeZone);
  const rows = [
    ["name", shown.displayName],
    ["phone", shown.phone],
    ["state", shown.state],
    ["time zone", shown.timeZone],
    ["registered", at(shown.createdAt)],
    ["last visit", shown.lastVisitAt === null ? "none" : at(shown.lastVisitAt)],
    ["open cases", String(shown.openCases)],
    ["open promises", String(shown.openPromises)],
    ...shown.sessions.map(({ deviceName, lastUsedAt }) => [
      "session",
      `${deviceName ?? "unnamed"}, used ${at(lastUsedAt)}`,
    ]),
    ...shown.toPayOut.map(({ lenderCode, amount, currency }) => [
      "to pay out",
      `${lenderCode ?? ""}: ${withCurrency(amount, currency)}`,
    ]),
  ];
  const cases = shown.cases.map((one) => [one.lenderCode ?? "", one.status.replaceAll("_", " "), String(one.cases)]);
  const next = shown.openCases === 0 ? [] : [`\nList the cases: case list --holder ${shown.fieldPartnerId}`];
  return [
    table(rows),
    ...(cases.length === 0 ? [] : ["", table([["LENDER", "STATUS", "CASES"], ...cases])]),
    ...next,
  ].join("\n");
}

/** Reads the cursor of a list of field partners. */
export function readFieldPartnerCursor(text: string): string {
  const id = parsePublicId("fp", text);
  if (id !== undefined) return id;
  throw new InvalidArgumentError("Expected the nextCursor of a page.");
}
