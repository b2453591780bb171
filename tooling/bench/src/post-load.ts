import { Pool } from "undici";
import { answerQuestions } from "./child.ts";
import { closedLoop } from "./closed-loop.ts";

/** Event bodies to post, each as soon as one of the connections is free. */
export interface PostLoad {
  readonly url: string;
  readonly connections: number;
  readonly events: readonly { readonly deliveryId: string; readonly body: string }[];
}

answerQuestions(async ({ url, connections, events }: PostLoad) => {
  const { origin, pathname: path } = new URL(url);
  const pool = new Pool(origin, { connections, pipelining: 1 });
  let next = 0;

  async function post(): Promise<void> {
    const { deliveryId, body } = events[next++]!;
    const headers = { "content-type": "application/json", "x-service-delivery": deliveryId };
    const answer = await pool.request({ method: "POST", path, headers, body });
    await answer.body.dump();
    if (answer.statusCode !== 200) throw new Error(`The receiver answered ${answer.statusCode}.`);
  }

  const result = await closedLoop(
    Array.from({ length: connections }, () => post),
    { count: events.length },
  );
  await pool.close();
  return result;
});
