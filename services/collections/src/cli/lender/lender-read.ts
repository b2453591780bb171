import { type Lender, listLenders } from "@collections/lenders";
import { percentText } from "@collections/money";
import { type EndpointStatus, endpointOf } from "@collections/webhooks";
import { type Command, InvalidArgumentError } from "commander";
import { momentText } from "../terminal/local-time.ts";
import { formatOf, MAX_LIMIT, pageOf, type PageOptions, printPage, withPageOptions } from "../terminal/page-options.ts";
import { answer, lenderNamed, type Operator, table, withDatabase } from "../terminal/with-database.ts";

/** Adds the commands that read lenders: `lender list` and `lender show`. */
export function addReadCommands(lender: Command): void {
  withPageOptions(lender.command("list").description("List the lenders, by code."), readLenderCursor, MAX_LIMIT)
    .addHelpText("after", "\nExample:\n  pnpm collections lender list --csv")
    .action((options: PageOptions<string>) => list(options));
  lender
    .command("show")
    .argument("<code>", "the lender's code")
    .description("Show one lender, without its secrets.")
    .addHelpText("after", "\nExample:\n  pnpm collections lender show ACME --json")
    .action((code: string) => withDatabase((operator) => show(operator, code)));
}

async function list({ limit, cursor, csv }: PageOptions<string>): Promise<void> {
  const format = formatOf({ csv });
  await withDatabase(async ({ em }) => {
    const all = await listLenders(em());
    const { page, last } = pageOf(all, limit, cursor === undefined ? undefined : ({ code }) => code === cursor);
    printPage(format, {
      name: "lenders",
      items: page.map((lender) => shownLender(lender)),
      nextCursor: last?.code ?? null,
      fields: LISTED,
      columns: {
        CODE: ({ lenderCode }) => lenderCode,
        NAME: ({ name }) => name,
        CURRENCY: ({ currency }) => currency,
        STATE: ({ state }) => state,
      },
      none: "No lender is registered.",
    });
  });
}

async function show({ em }: Operator, code: string): Promise<void> {
  const lender = await lenderNamed(em(), code);
  const json = shownLender(lender, await endpointOf(em(), lender.id));
  answer(json, table(Object.entries(json).map(([name, value]) => [name, plain(value, lender.timeZone)])));
}

/** Returns a lender as `--json` shows it. */
export function shownLender(lender: Lender, endpoint?: EndpointStatus) {
  const { code, id: _, commission, ...others } = lender;
  return {
    lenderCode: code,
    ...others,
    commissionPercent: percentText(commission),
    ...(endpoint && { callbackUrl: endpoint.url }),
  };
}

const LISTED = [
  "lenderCode",
  "name",
  "state",
  "country",
  "currency",
  "language",
  "timeZone",
  "commissionPercent",
  "balanceCutoff",
  "keepPersonalDataDays",
  "technicalContacts",
  "mintLinkUrl",
  "paymentLinkHosts",
  "fallback",
  "rateLimits",
  "createdAt",
  "updatedAt",
] as const satisfies (keyof ReturnType<typeof shownLender>)[];

function plain(value: unknown, timeZone: string): string {
  if (value instanceof Date) return momentText(value, timeZone);
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Reads a cursor of `lender list`: the code of the last lender of the previous page. */
function readLenderCursor(text: string): string {
  if (/^[A-Z0-9]{2,16}$/.test(text)) return text;
  throw new InvalidArgumentError("Expected the nextCursor of a page.");
}
