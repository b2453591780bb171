import { publicId } from "@collections/database";
import { listLenders } from "@collections/lenders";
import {
  deliveryById,
  type DeliveryDetail,
  type DeliveryState,
  type DeliverySummary,
  listDeliveries,
} from "@collections/webhooks";
import { Command, InvalidArgumentError, Option } from "commander";
import { EXIT, notFound, Refusal } from "./refusal.ts";
import { answer, idOf, isUuid, lenderNamed, type Operator, table, withDatabase } from "./with-database.ts";

const STATES = ["waiting", "in_flight", "retrying", "delivered", "parked"] as const satisfies DeliveryState[];
const MAX_LIMIT = 200;

interface ListOptions {
  lender?: string;
  loan?: string;
  state?: DeliveryState;
  cursor?: string;
  limit: number;
}

/** `delivery …`: each event on its way to its lender. */
export function deliveryCommand(): Command {
  const delivery = new Command("delivery").description("Events on their way to lenders.");
  delivery
    .command("list")
    .description("Deliveries, the newest first.")
    .option("--lender <code>", "of this lender only")
    .option("--loan <loan>", "of this loan only; needs --lender")
    .addOption(new Option("--state <state>", "in this state only").choices([...STATES]))
    .option("--cursor <cursor>", "go on where a page ended: its nextCursor", cursor)
    .option("--limit <count>", "at most so many", limit, 50)
    .addHelpText("after", "\nExample:\n  pnpm collections delivery list --lender ACME --state parked")
    .action((options: ListOptions) => list(options));
  delivery
    .command("show")
    .argument("<event-id>", "evt_…")
    .description("One delivery: the request, and every attempt with its cause.")
    .addHelpText("after", "\nExample:\n  pnpm collections delivery show evt_0192… --json")
    .action((eventId: string) => show(eventId));
  return delivery;
}

async function list({ lender: code, loan, state, cursor, limit }: ListOptions): Promise<void> {
  if (loan !== undefined && code === undefined) {
    throw new Refusal("REQUIRED", "Loan numbers are a lender's own: give --lender with --loan.", EXIT.notUnderstood);
  }
  await withDatabase(async ({ em }) => {
    const lender = code === undefined ? undefined : await lenderNamed(em(), code);
    const page = await listDeliveries(
      em(),
      {
        ...(lender && { lenderId: lender.id }),
        ...(loan !== undefined && { loan }),
        ...(state && { states: [state] }),
        ...(cursor !== undefined && { cursor }),
        limit,
      },
      new Date(),
    );
    const rows = page.deliveries.map(({ eventId, kind, loan, sequence, state, attempts, lastError }) => [
      publicId("evt", eventId),
      kind,
      loan,
      String(sequence),
      state,
      String(attempts),
      lastError ?? "",
    ]);
    const header = ["EVENT", "KIND", "LOAN", "SEQUENCE", "STATE", "ATTEMPTS", "LAST ERROR"];
    answer(
      { deliveries: page.deliveries.map(shown), nextCursor: page.nextCursor },
      rows.length === 0 ? "No deliveries." : table([header, ...rows]),
    );
  });
}

async function show(given: string): Promise<void> {
  await withDatabase(async ({ em }) => {
    const found = await findDelivery(em, idOf("evt", "event", given));
    if (!found) throw notFound("event", given);
    const { body, log, occurredAt } = found;
    const attempts = log.map(({ number, startedAt, durationMs, outcome, status, errorDetail }) => [
      `#${number}`,
      startedAt.toISOString(),
      `${durationMs} ms`,
      outcome,
      status === null ? "" : String(status),
      errorDetail ?? "",
    ]);
    answer(
      { ...shown(found), occurredAt, body: JSON.parse(body) as unknown, log },
      [`${found.kind} of ${found.loan}, sequence ${found.sequence}: ${found.state}`, body, table(attempts)].join("\n"),
    );
  });
}

/** An event is kept with its lender, and its id does not tell which. */
async function findDelivery(em: Operator["em"], eventId: string): Promise<DeliveryDetail | undefined> {
  for (const { id } of await listLenders(em())) {
    const found = await deliveryById(em(), id, eventId, new Date());
    if (found) return found;
  }
  return undefined;
}

function shown(summary: DeliverySummary): object {
  const { eventId, kind, loan, sequence, state, attempts, nextAttemptAt, lastError, createdAt, settledAt } = summary;
  return {
    eventId: publicId("evt", eventId),
    kind,
    sourceLoanNumber: loan,
    sequence: Number(sequence),
    state,
    attempts,
    nextAttemptAt,
    lastError,
    createdAt,
    settledAt,
  };
}

function cursor(text: string): string {
  if (isUuid(text)) return text;
  throw new InvalidArgumentError("Expected the nextCursor of a page.");
}

function limit(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= MAX_LIMIT) return count;
  throw new InvalidArgumentError(`Expected a number from 1 to ${MAX_LIMIT}.`);
}
