import { HEADERS, sign, signingKey } from "@collections/signing";
import { type Job, PgBoss, type WorkOptions } from "pg-boss";
import { Agent } from "undici";
import { answerQuestions } from "../load/child.ts";
import { NAIVE_QUEUE, type NaiveJob } from "./naive-change.ts";

/** A command to the worker of the usual solution on pg-boss: start (`work`) or stop (`rest`) processing the queue. */
export type NaiveWorkerQuestion =
  | { readonly ask: "work"; readonly databaseUrl: string; readonly settings: NaiveSettings }
  | { readonly ask: "rest" };

export type NaiveSettings = Required<Pick<WorkOptions, "batchSize" | "localConcurrency" | "perJobResults">>;

const TIMEOUT_MS = 10_000;
const POLL_SECONDS = 0.5;

const key = signingKey("0123456789abcdef".repeat(4));
const agent = new Agent({ pipelining: 1, headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS });
let boss: PgBoss | undefined;

answerQuestions(async (question: NaiveWorkerQuestion) => {
  if (question.ask === "rest") {
    await boss?.offWork(NAIVE_QUEUE, { wait: true });
    return;
  }
  const { databaseUrl, settings } = question;
  boss ??= await new PgBoss({ connectionString: databaseUrl, useListenNotify: true }).start();
  const polling = { pollingIntervalSeconds: POLL_SECONDS, notifyPollingIntervalSeconds: POLL_SECONDS };
  await boss.work<NaiveJob>(
    NAIVE_QUEUE,
    { ...settings, ...polling, burstWhenBatchFull: true },
    settings.perJobResults ? postEach : postAll,
  );
});

/** Posts every event of a batch. The batch ends when its slowest post has ended, as in pg-boss. */
async function postEach(jobs: Job<NaiveJob>[]) {
  return Promise.all(
    jobs.map(async ({ id, data }) => {
      try {
        await post(data);
        return { id, status: "completed" as const };
      } catch (error) {
        return { id, status: "failed" as const, output: { message: String(error) } };
      }
    }),
  );
}

async function postAll(jobs: Job<NaiveJob>[]): Promise<void> {
  await Promise.all(jobs.map(({ data }) => post(data)));
}

async function post({ url, deliveryId, kind, body }: NaiveJob): Promise<void> {
  const { origin, pathname: path } = new URL(url);
  const timestamp = String(Date.now());
  const headers = {
    "content-type": "application/json",
    [HEADERS.event]: kind,
    [HEADERS.delivery]: deliveryId,
    [HEADERS.timestamp]: timestamp,
    [HEADERS.signature]: sign({ method: "POST", path, timestamp, body, secret: key }),
  };
  const answer = await agent.request({ origin, method: "POST", path, headers, body });
  await answer.body.dump();
  if (answer.statusCode !== 200) throw new Error(`The receiver answered ${answer.statusCode}, expected 200.`);
}
