import { Command } from "commander";
import { addReconcileCommand } from "./payment-reconcile.ts";

/** `payment …`: compare a lender's own payments with the booked payments. */
export function paymentCommand(): Command {
  const command = new Command("payment").description("Compare a lender's own payments with the booked payments.");
  addReconcileCommand(command);
  return command;
}
