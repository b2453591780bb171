import type { Database } from "@collections/database";
import { deliveryById } from "@collections/webhooks";
import type { Answer } from "../../http/answer.ts";
import type { SignedRequest } from "../request-context.ts";
import { attemptBody, deliveryBody, deliveryNotFound, eventIdIn } from "./delivery-body.ts";

/** GET /api/v1/partner/webhooks/deliveries/{eventId} (contract: Deliveries): one event, its bytes, every attempt. */
export async function getDelivery(request: SignedRequest, { em }: Pick<Database, "em">): Promise<Answer> {
  const delivery = await deliveryById(em(), request.lender.id, eventIdIn(request), new Date());
  if (!delivery) throw deliveryNotFound();
  return {
    status: 200,
    body: {
      success: true,
      ...deliveryBody(delivery),
      settledAt: delivery.settledAt,
      body: delivery.body,
      log: delivery.log.map((attempt) => attemptBody(attempt, delivery.url)),
    },
  };
}
