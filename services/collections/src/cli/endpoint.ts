import { endpointOf } from "@collections/webhooks";
import { Command } from "commander";
import { notFound } from "./refusal.ts";
import { answer, lenderNamed, withDatabase } from "./with-database.ts";

/** `endpoint …`: where a lender's events go, and how that goes. */
export function endpointCommand(): Command {
  const endpoint = new Command("endpoint").description("The callbacks that receive events.");
  endpoint
    .command("show")
    .argument("<lender>", "the lender's code")
    .description("A lender's callback, its failures and its backlog.")
    .addHelpText("after", "\nExample:\n  pnpm collections endpoint show ACME --json")
    .action((code: string) =>
      withDatabase(async ({ em }) => {
        const lender = await lenderNamed(em(), code);
        const status = await endpointOf(em(), lender.id);
        if (!status) throw notFound("endpoint", code);
        const { url, state, consecutiveFailures, waiting, parked } = status;
        const words = `${consecutiveFailures} failures in a row, ${waiting} events waiting, ${parked} parked`;
        answer(status, `${url ?? "no callback is registered"}\n${state}: ${words}.`);
      }),
    );
  return endpoint;
}
