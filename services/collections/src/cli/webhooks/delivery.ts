import { publicId } from "@collections/database";
import { onOneLine } from "@collections/flows";
import { listLenders } from "@collections/lenders";
import { type DeliveryState, listDeliveries } from "@collections/webhooks";
import { Command, Option } from "commander";
import { addReplayCommands } from "./delivery-replay.ts";
import { showCommand, shownDelivery } from "./delivery-show.ts";
import { machineTimeZone } from "../terminal/local-time.ts";
import { type LocalMoment, readCount, readCursor, readMoment } from "../terminal/read-options.ts";
import { EXIT, Refusal } from "../terminal/refusal.ts";
import { answer, lenderNamed, table, withDatabase } from "../terminal/with-database.ts";

const STATES = ["waiting", "in_flight", "retrying", "delivered", "parked"] as const satisfies DeliveryState[];
const MAX_LIMIT = 200;

interface ListOptions {
  lender?: string;
  loan?: string;
  kind?: string;
  state?: DeliveryState;
  since?: LocalMoment;
  cursor?: string;
  limit: number;
}

/** `delivery …`: the deliveries of events to lenders. */
export function deliveryCommand(): Command {
  const delivery = new Command("delivery").description("Deliveries of events to lenders.");
  delivery
    .command("list")
    .description("List deliveries, the newest first.")
    .option("--lender <code>", "only deliveries of this lender")
    .option("--loan <loan>", "only deliveries of this loan; needs --lender")
    .option("--kind <kind>", "only events of this kind, such as payment.collected")
    .addOption(new Option("--state <state>", "only deliveries in this state").choices([...STATES]))
    .option(
      "--since <moment>",
      'only events created at this time or later, such as 09:00, "2026-11-20 18:00" or 24h (24 hours ago)',
      readMoment,
    )
    .option("--cursor <cursor>", "the nextCursor of the previous page", readCursor)
    .option("--limit <count>", "the size of a page", readCount(1, MAX_LIMIT), 50)
    .addHelpText("after", "\nExample:\n  pnpm collections delivery list --lender ACME --state parked --since 24h")
    .action((options: ListOptions) => list(options));
  delivery.addCommand(showCommand());
  addReplayCommands(delivery);
  return delivery;
}

async function list({ lender: code, loan, state, since, ...others }: ListOptions): Promise<void> {
  if (loan !== undefined && code === undefined) {
    throw new Refusal(
      "REQUIRED",
      "--loan needs --lender, because two lenders may have the same loan number.",
      EXIT.notUnderstood,
    );
  }
  await withDatabase(async ({ em }) => {
    const lender = code === undefined ? undefined : await lenderNamed(em(), code);
    const codes = new Map((await listLenders(em())).map(({ id, code }) => [id, code]));
    const page = await listDeliveries(
      em(),
      {
        ...others,
        ...(lender && { tenantId: lender.id }),
        ...(since && { since: since(lender?.timeZone ?? machineTimeZone()) }),
        ...(loan !== undefined && { stream: loan }),
        ...(state && { states: [state] }),
      },
      new Date(),
    );
    const rows = page.deliveries.map((delivery) => [
      publicId("evt", delivery.eventId),
      codes.get(delivery.tenantId) ?? "",
      delivery.kind,
      delivery.stream,
      String(delivery.sequence),
      delivery.state,
      String(delivery.attempts),
      onOneLine(delivery.lastError ?? ""),
    ]);
    const header = ["EVENT", "LENDER", "KIND", "LOAN", "SEQUENCE", "STATE", "ATTEMPTS", "LAST ERROR"];
    answer(
      {
        deliveries: page.deliveries.map((delivery) => shownDelivery(delivery, codes.get(delivery.tenantId))),
        nextCursor: page.nextCursor,
      },
      rows.length === 0 ? "No deliveries." : table([header, ...rows]),
    );
  });
}
