import { deliveriesOfLenders, onOneLine } from "@collections/flows";
import { listLenders } from "@collections/lenders";
import { timeIn } from "@collections/local-time";
import type { DeliveryState } from "@collections/webhooks";
import { Command, Option } from "commander";
import { addReplayCommands } from "./delivery-replay.ts";
import { shownDelivery } from "../../desk/shown-delivery.ts";
import { showCommand } from "./delivery-show.ts";
import { machineTimeZone } from "../terminal/local-time.ts";
import { formatOf, type PageOptions, printPage, withPageOptions } from "../terminal/page-options.ts";
import { type LocalMoment, readCursor, readMoment } from "../terminal/read-options.ts";
import { EXIT, Refusal } from "../terminal/refusal.ts";
import { lenderNamed, withDatabase } from "../terminal/with-database.ts";

const STATES = ["waiting", "in_flight", "retrying", "delivered", "parked"] as const satisfies DeliveryState[];

interface ListOptions extends PageOptions<string> {
  lender?: string;
  loan?: string;
  kind?: string;
  state?: DeliveryState;
  since?: LocalMoment;
}

/** `delivery …`: the deliveries of events to lenders. */
export function deliveryCommand(): Command {
  const delivery = new Command("delivery").description("Deliveries of events to lenders.");
  const listCommand = delivery.command("list").description("List deliveries, the newest first.");
  withPageOptions(listCommand, readCursor)
    .option("--lender <code>", "only deliveries of this lender")
    .option("--loan <loan>", "only deliveries of this loan; needs --lender")
    .option("--kind <kind>", "only events of this kind, such as payment.collected")
    .addOption(new Option("--state <state>", "only deliveries in this state").choices([...STATES]))
    .option(
      "--since <moment>",
      'only events created at this time or later, such as 09:00, "2026-11-20 18:00" or 24h (24 hours ago)',
      readMoment,
    )
    .addHelpText("after", "\nExample:\n  pnpm collections delivery list --lender ACME --state parked --since 24h")
    .action((options: ListOptions) => list(options));
  delivery.addCommand(showCommand());
  addReplayCommands(delivery);
  return delivery;
}

async function list({ lender: code, loan, state, since, csv, ...others }: ListOptions): Promise<void> {
  const format = formatOf({ csv });
  if (loan !== undefined && code === undefined) {
    throw new Refusal(
      "REQUIRED",
      "--loan needs --lender, because two lenders may have the same loan number.",
      EXIT.notUnderstood,
    );
  }
  await withDatabase(async ({ em }) => {
    const lender = code === undefined ? undefined : await lenderNamed(em(), code);
    const timeZone = lender?.timeZone ?? machineTimeZone();
    const lenders = lender ? [lender] : await listLenders(em());
    const codes = new Map(lenders.map((one) => [one.id, one.code]));
    const page = await deliveriesOfLenders(
      em(),
      lenders,
      {
        ...others,
        ...(since && { since: since(timeZone) }),
        ...(loan !== undefined && { stream: loan }),
        ...(state && { states: [state] }),
      },
      new Date(),
    );
    printPage(format, {
      name: "deliveries",
      items: page.deliveries.map((delivery) => shownDelivery(delivery, codes.get(delivery.tenantId))),
      nextCursor: page.nextCursor,
      fields: [
        "eventId",
        "lenderCode",
        "kind",
        "sourceLoanNumber",
        "sequence",
        "state",
        "attempts",
        "nextAttemptAt",
        "lastError",
        "createdAt",
        "settledAt",
      ],
      columns: {
        [`CREATED (${timeZone})`]: ({ createdAt }) => timeIn(timeZone, new Date(createdAt)),
        EVENT: ({ eventId }) => eventId,
        LENDER: ({ lenderCode }) => lenderCode ?? "",
        KIND: ({ kind }) => kind,
        LOAN: ({ sourceLoanNumber }) => sourceLoanNumber,
        SEQUENCE: ({ sequence }) => String(sequence),
        STATE: ({ state: current }) => current,
        ATTEMPTS: ({ attempts }) => String(attempts),
        "LAST ERROR": ({ lastError }) => onOneLine(lastError ?? ""),
      },
      none: "No deliveries.",
    });
  });
}
