import type { Books } from "../books/books.ts";
import { openCallbackTable, type WaitingEvent } from "./callback-table.ts";
import { startChild } from "../load/child.ts";
import type { LoadResult } from "../load/closed-loop.ts";
import type { ConfirmLoad } from "../load/confirm-load.ts";
import type { Loans } from "../load/payment.ts";
import type { Callbacks } from "./receiver.ts";
import type { LenderRole, Sender } from "./sender.ts";
import { startService } from "../server/service.ts";

/** Delivers events by the service. Each change that `commit` makes is a payment, confirmed over HTTP. */
export interface ServiceSender extends Sender {
  /** The lender's waiting events, with their exact bodies. */
  waiting(role: LenderRole): Promise<WaitingEvent[]>;
}

export interface ServiceSenderOptions {
  readonly databaseUrl: string;
  readonly books: Books;
  /** The loans of each lender, by the lender's role. */
  readonly loans: Readonly<Record<LenderRole, Loans>>;
  readonly callbacks: Callbacks;
}

/** Starts a server, which books payments, and a worker, which delivers events. */
export async function startServiceSender(options: ServiceSenderOptions): Promise<ServiceSender> {
  const { databaseUrl, books, loans, callbacks } = options;
  const open = (role: LenderRole) =>
    openCallbackTable(databaseUrl, books.lenderIds[loans[role].lenderCodes[0]!]!, callbacks[role]);
  const [server, worker, prompt, slow] = await Promise.all([
    startService({ databaseUrl, role: "server" }),
    startService({ databaseUrl, role: "worker" }),
    open("prompt"),
    open("slow"),
  ]);
  const tables = { prompt, slow };
  const http = startChild(new URL("../load/confirm-load.ts", import.meta.url));
  let series = 0;
  return {
    pid: worker.pid,
    async commit(role, count, clients) {
      const { keys } = books;
      const name = `payments-${(series += 1)}`;
      const extent = { count };
      const load: ConfirmLoad = {
        serviceUrls: [server.url],
        keys,
        loans: loans[role],
        series: name,
        clients,
        extent,
      };
      await http.ask<LoadResult>(load);
    },
    hold: (role) => tables[role].removeUrl(),
    resume: (role) => tables[role].restoreUrl(),
    waiting: (role) => tables[role].waiting(),
    async untilNothingWaits() {
      await Promise.all([prompt.untilNothingWaits(), slow.untilNothingWaits()]);
    },
    committedAtMs: (deliveryIds) => prompt.committedAtMs(deliveryIds),
    lastAcknowledgedAtMs: () => prompt.lastSettledAtMs(),
    async close() {
      await Promise.all([prompt.close(), slow.close(), http.stop(), server.stop(), worker.stop()]);
    },
  };
}
