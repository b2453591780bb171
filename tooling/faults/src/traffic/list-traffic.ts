import { queryUntilAnswered } from "./link-traffic.ts";
import type { Pace, Scene } from "./pace.ts";

const CASES = `{
  cases(first: 50) { edges { node { id status outstanding { minor } } } pageInfo { hasNextPage endCursor } }
}`;
const DELIVERIES = "/api/v1/partner/webhooks/deliveries?limit=50";

/**
 * Reads two lists in turn: as a field partner the list of cases, and as the lender the list of deliveries. Calls
 * `onDeliveries` for each list of deliveries that is not empty, so that the caller notices if the load has tested
 * nothing. A single list may be rejected or empty.
 */
export async function readLists(stage: Scene, pace: Pace, onDeliveries: () => void): Promise<void> {
  const { isOver, rest, onAnswer } = pace;
  const client = stage.client();
  try {
    while (!isOver()) {
      const startedAt = performance.now();
      await queryUntilAnswered(stage, pace, CASES, {});
      onAnswer?.(performance.now() - startedAt);
      await rest();
      const answer = await client.call("GET", DELIVERIES).catch(() => undefined);
      if (answer?.status === 200) {
        if ((answer.body["deliveries"] as unknown[]).length > 0) onDeliveries();
      } else if (answer !== undefined && !stage.mayRefuse(answer)) {
        stage.model.odd(`a list of deliveries was answered ${answer.status}: ${answer.rawBody.slice(0, 300)}`);
      }
      await rest();
    }
  } finally {
    client.disconnect();
  }
}
