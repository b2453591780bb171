import { HEADERS } from "@collections/signing";
import { Pool } from "undici";
import { answerQuestions } from "../load/child.ts";
import { closedLoop } from "../load/closed-loop.ts";

/**
 * A load that posts event bodies. Its requests look like the service's, and each is sent as soon as a connection is
 * free.
 */
export interface PostLoad {
  readonly url: string;
  readonly connections: number;
  readonly events: readonly { readonly deliveryId: string; readonly body: string }[];
}

/**
 * The headers of each post. They are as many and as long as those that the service sends. With fewer headers this
 * program would do less work than the service, and the comparison would be unfair.
 */
const HEADERS_OF_ALL = {
  "Content-Type": "application/json",
  "User-Agent": "PartnerCollections-Webhooks/1.0",
  [HEADERS.event]: "payment.collected",
  [HEADERS.attempt]: "1",
  [HEADERS.keyId]: "lk_0123456789abcdef01234567",
  [HEADERS.timestamp]: "1795167667000",
  [HEADERS.signature]: "0123456789abcdef".repeat(4),
};

answerQuestions(async ({ url, connections, events }: PostLoad) => {
  const { origin, pathname: path } = new URL(url);
  const pool = new Pool(origin, { connections, pipelining: 1 });
  let next = 0;

  async function post(): Promise<void> {
    const { deliveryId, body } = events[next++]!;
    const headers = { ...HEADERS_OF_ALL, [HEADERS.delivery]: deliveryId };
    const answer = await pool.request({ method: "POST", path, headers, body });
    await answer.body.dump();
    if (answer.statusCode !== 200) throw new Error(`The receiver answered ${answer.statusCode}, expected 200.`);
  }

  const result = await closedLoop(
    Array.from({ length: connections }, () => post),
    { count: events.length },
  );
  await pool.close();
  return result;
});
