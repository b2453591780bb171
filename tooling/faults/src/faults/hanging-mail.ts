import { startMailCatcher } from "@collections/lender-twin";
import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "../fault.ts";
import { underTraffic } from "../under-traffic.ts";

const HANGS_MS = 4_000;

export const hangingMail: Fault = {
  name: "hanging-mail",
  sentence: "The mail server accepts connections and never answers, while links wait to be sent by e-mail.",
  rounds: { quick: 1, long: 20, legs: 1 },
  async run(leg) {
    const mail = await startMailCatcher();
    try {
      return await underTraffic({
        stage: { smtpUrl: mail.smtpUrl },
        mustCount: ["hits"],
        async strike({ postgres, model, lender }) {
          const mintsBefore = lender.mints.length;
          mail.behaviour = "hang";
          await pause(HANGS_MS);
          // Links are minted nevertheless, and their messages wait.
          await lender.waitFor(() => lender.mints.length > mintsBefore, 180_000);
          const { rows } = await postgres.pool.query<{ waiting: string }>(
            "select count(*) as waiting from payment_links.link_delivery where channel = 'email' and status = 'queued'",
          );
          model.counts.hits += Number(rows[0]!.waiting);
          mail.behaviour = "ok";
        },
      })(leg);
    } finally {
      await mail.close();
    }
  },
};
