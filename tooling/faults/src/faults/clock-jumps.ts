import { rmSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { makeClocks } from "../processes/clock.ts";
import type { Fault } from "../fault.ts";
import { oneOf } from "../traffic/seeded-random.ts";
import { shimUnavailable } from "../processes/shim.ts";
import { ownFolder } from "../processes/run-folder.ts";
import { underTraffic } from "../under-traffic.ts";

const JUMP_MS = 600_000;
const NOTICED_MS = 540_000;

export const clockJumps: Fault = {
  name: "clock-jumps",
  sentence: "The clocks of one server and of every worker jump by ten minutes, forwards or backwards, and later back.",
  rounds: { quick: 1, long: 20, legs: 1 },
  unavailableReason: shimUnavailable,
  async run(leg) {
    const folder = ownFolder();
    const [server, ...workers] = makeClocks(3, folder);
    try {
      return await underTraffic({
        // The first server keeps a correct clock. It accepts the requests that the second server rejects while the
        // second server's clock is wrong.
        stage: {
          servers: [{}, server!.settings],
          workers: workers.map(({ settings }) => settings),
          mayRefuse: ({ body }) => body["code"] === "TIMESTAMP_OUT_OF_RANGE",
        },
        mustCount: ["hits"],
        async strike({ servers, model, random }) {
          for (const clock of [server!, ...workers]) clock.set(oneOf(random, [-JUMP_MS, JUMP_MS]));
          await pause(2_000 + random() * 2_000);
          if (await isOff(servers.urls[1]!)) model.counts.hits += 1;
          for (const clock of [server!, ...workers]) clock.set(0);
        },
      })(leg);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** Whether the clock of the server at this URL differs from ours. */
async function isOff(url: string): Promise<boolean> {
  const { headers } = await fetch(`${url}/healthz`);
  return Math.abs(Date.parse(headers.get("date") ?? "") - Date.now()) > NOTICED_MS;
}
