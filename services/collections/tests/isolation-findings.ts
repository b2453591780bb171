import { type Answer, LenderClient } from "@collections/lender-twin";
import type { Call, Trial } from "./isolation-requests.ts";
import { type Key, leaksIn, type World } from "./isolation-world.ts";

/** Who sends a call, and where to. */
export interface Caller {
  readonly url: string;
  readonly key: Key;
}

/** Sends a call, signed with a key; `signature: null` leaves the signature away. */
export async function send(
  { url, key }: Caller,
  { method, path, body, headers }: Call,
  signature?: null,
): Promise<Answer> {
  const client = new LenderClient();
  client.connect({ serviceUrl: url, ...key });
  try {
    return await client.call(method, path, body ?? "", { headers, ...(signature === null && { signature }) });
  } finally {
    client.disconnect();
  }
}

/** What is wrong with how a caller is answered who names what is another's: nothing when it is as if nobody had it. */
export async function findingsOf(world: World, caller: Caller, trial: Trial): Promise<string[]> {
  const [theirs, nobodys] = await bothAnswers(caller, trial);
  return [...leaksIn(world, asText(theirs), trial.sent), ...differences(theirs, nobodys, trial)];
}

/** Whether the answer to what is theirs is another one than to what is nobody's. */
export function differences(theirs: Answer, nobodys: Answer, { sent }: Trial): string[] {
  const [one, other] = [comparable(theirs, sent[0]), comparable(nobodys, sent[1])];
  return one === other ? [] : [`tells it from nothing: ${one} ≠ ${other}`];
}

/** One after the other, since each may change something of the caller's. */
export async function bothAnswers(caller: Caller, { theirs, nobodys }: Trial): Promise<[Answer, Answer]> {
  return [await send(caller, theirs), await send(caller, nobodys)];
}

/** What an answer says: status, headers that are about the matter, body. */
export function asText({ status, headers, rawBody }: Answer): string {
  const { etag, location, allow } = headers;
  return JSON.stringify([status, headers["content-type"], etag, location, allow]) + rawBody;
}

/** Without what was sent, and without what is new in each answer: ids, times, digests, and the caller's next loan. */
function comparable(answer: Answer, sent: string): string {
  return asText(answer)
    .replaceAll(sent, "SENT")
    .replaceAll(/[0-9a-f]{64}/g, "DIGEST")
    .replaceAll(/\b[a-z]+_[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "ID")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replaceAll(/"skewMs":-?\d+/g, "SKEW")
    .replaceAll(/SHARED-\d+/g, "LOAN")
    .replaceAll(/"reference":"pay_\d+"/g, "REFERENCE");
}
