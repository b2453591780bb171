import { startChild } from "../load/child.ts";
import { closedLoop } from "../load/closed-loop.ts";
import { openCallbackTable } from "../webhooks/callback-table.ts";
import type { Callbacks } from "../webhooks/receiver.ts";
import type { LenderRole, Sender } from "../webhooks/sender.ts";
import { startOurEvents } from "./event-program.ts";
import type { PackageWork } from "./package-worker.ts";

/** Starts a host that emits events with `@collections/webhooks`, and a process that delivers them. */
export async function startPackageSender(databaseUrl: string, callbacks: Callbacks): Promise<Sender> {
  const host = await startOurEvents(databaseUrl, callbacks);
  const open = (role: LenderRole) => openCallbackTable(databaseUrl, host.tenantIds[role], callbacks[role]);
  const [prompt, slow] = await Promise.all([open("prompt"), open("slow")]);
  const tables = { prompt, slow };
  const worker = startChild(new URL("package-worker.ts", import.meta.url));
  await worker.ask({ databaseUrl, allow: new URL(callbacks.prompt).host } satisfies PackageWork);
  return {
    pid: worker.pid,
    async commit(role, count, clients) {
      await closedLoop(
        Array.from({ length: clients }, () => () => host.commit(role)),
        { count },
      );
    },
    hold: (role) => tables[role].removeUrl(),
    resume: (role) => tables[role].restoreUrl(),
    async untilNothingWaits() {
      await Promise.all([prompt.untilNothingWaits(), slow.untilNothingWaits()]);
    },
    committedAtMs: (deliveryIds) => prompt.committedAtMs(deliveryIds),
    lastAcknowledgedAtMs: () => prompt.lastSettledAtMs(),
    async close() {
      await worker.stop();
      await Promise.all([prompt.close(), slow.close(), host.close()]);
    },
  };
}
