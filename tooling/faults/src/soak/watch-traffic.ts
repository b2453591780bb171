import { setTimeout as pause } from "node:timers/promises";
import { oneOf } from "../traffic/seeded-random.ts";
import type { Stage } from "../stage/stage.ts";
import type { Pace } from "../traffic/pace.ts";

const SUBSCRIPTION = "subscription ($id: ID!) { paymentLinkUpdated(id: $id) { id status } }";
const NEWEST = 10;
const WATCHED_FOR_MS = 5_000;
const LOOK_AGAIN_MS = 500;

/**
 * Simulates a field partner's phone. It watches one of the newest links until the link's status is final or some
 * seconds have passed, and then watches another link.
 */
export async function watchLinks(stage: Stage, { random, isOver, onAnswer }: Pace): Promise<void> {
  while (!isOver()) {
    const newest = stage.model.links.flatMap(({ linkId }) => (linkId === undefined ? [] : [linkId])).slice(-NEWEST);
    if (newest.length > 0) await watch(stage, oneOf(random, newest), onAnswer).catch(ignoreEnd);
    await pause(LOOK_AGAIN_MS);
  }
}

async function watch(stage: Stage, id: string, onUpdate: Pace["onAnswer"]): Promise<void> {
  const startedAt = performance.now();
  const answer = await fetch(`${stage.servers.urls[0]!}/graphql`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "text/event-stream",
      authorization: `Bearer ${stage.accessToken}`,
    },
    body: JSON.stringify({ query: SUBSCRIPTION, variables: { id } }),
    signal: AbortSignal.timeout(WATCHED_FOR_MS),
  });
  if (answer.status !== 200) stage.model.odd(`a subscription was answered ${answer.status}`);
  for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
    if (chunk.includes('"errors"')) stage.model.odd(`a subscription returned errors: ${chunk.slice(0, 300)}`);
    if (chunk.includes("event: next")) onUpdate?.(performance.now() - startedAt);
  }
}

/** Ignores the timeout that ends the watching, and throws any other error. */
function ignoreEnd(error: unknown): void {
  if ((error as Error).name !== "TimeoutError") throw error;
}
