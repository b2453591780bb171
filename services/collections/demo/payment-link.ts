import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Phone } from "./phone.ts";

const TIMEOUT_MS = 120_000;

const LINK_FIELDS = `
  id status url unavailableReason amount { display }
  fallback { upiUri instructions bankAccount { accountNumber ifsc } }`;

/** A payment link, as the field partner's phone sees it. */
export interface Link {
  id: string;
  status: string;
  url: string | null;
  unavailableReason: string | null;
  amount: { display: string };
  fallback: { upiUri: string | null; bankAccount: { accountNumber: string } | null } | null;
}

/** Requests a link for an amount in minor units of INR, and returns its id. */
export async function requestLink(phone: Phone, visitId: string, minor: string): Promise<string> {
  const input = { idempotencyKey: randomUUID(), visitId, amount: { minor, currency: "INR" } };
  const { requestPaymentLink: result } = await phone.ask<{ requestPaymentLink: { paymentLink?: { id: string } } }>(
    `mutation ($input: RequestPaymentLinkInput!) {
      requestPaymentLink(input: $input) {
        ... on RequestPaymentLinkPayload { paymentLink { ${LINK_FIELDS} } }
        ... on UserError { code message }
      }
    }`,
    { input },
  );
  if (result.paymentLink === undefined) throw new Error(`The link was refused: ${JSON.stringify(result)}`);
  return result.paymentLink.id;
}

/** Watches a link until its status is one of `states`, and returns the update with that status. */
export async function lastUpdate(phone: Phone, id: string, states: string[]): Promise<Link> {
  const subscription = `subscription ($id: ID!) { paymentLinkUpdated(id: $id) { ${LINK_FIELDS} } }`;
  const seen: string[] = [];
  const deadline = delay(TIMEOUT_MS, undefined, { ref: false });
  const updates = phone.watch<{ paymentLinkUpdated: Link }>(subscription, { id });
  for (;;) {
    const next = await Promise.race([updates.next(), deadline]);
    if (next === undefined || next.done)
      throw new Error(`The link had the states ${seen.join(" → ")}, and none of ${states.join(", ")} followed.`);
    const link = next.value.paymentLinkUpdated;
    seen.push(link.status);
    if (!states.includes(link.status)) continue;
    await updates.return(undefined);
    return link;
  }
}
