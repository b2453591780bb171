import { signingKey } from "@collections/signing";
import { setTimeout as delay } from "node:timers/promises";
import { answerQuestions } from "../load/child.ts";
import { HttpConnection } from "../load/http-connection.ts";
import { signedPost } from "../load/signed-request.ts";

/** A load of reconciliations without rows, over several connections. */
export interface ReconcileLoad {
  readonly serviceUrl: string;
  readonly key: { readonly apiKeyId: string; readonly hmacSecret: string };
  readonly connections: number;
  /** The pause of a connection after each answer. */
  readonly pauseMs: number;
  readonly durationMs: number;
  readonly window: { readonly from: string; readonly to: string };
}

/** How many requests were answered with each status. */
export type ReconcileAnswers = Readonly<Record<number, number>>;

const PATH = "/api/v1/partner/payments/reconcile";

answerQuestions(async (load: ReconcileLoad): Promise<ReconcileAnswers> => {
  const url = new URL(load.serviceUrl);
  const signer = { apiKeyId: load.key.apiKeyId, key: signingKey(load.key.hmacSecret) };
  const body = JSON.stringify({ ...load.window, rows: [] });
  const endsAt = performance.now() + load.durationMs;
  const answers: Record<number, number> = {};
  const work = async () => {
    const connection = await HttpConnection.open(url);
    while (performance.now() < endsAt) {
      const { status } = await connection.send(signedPost(signer, url.host, PATH, body, Date.now()));
      answers[status] = (answers[status] ?? 0) + 1;
      await delay(load.pauseMs);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: load.connections }, work));
  return answers;
});
