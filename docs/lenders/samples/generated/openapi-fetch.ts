import { createHmac } from "node:crypto";
import createClient from "openapi-fetch";
import type { components, paths } from "./collections-api.js";

type Booking = components["schemas"]["Booking"];
type Confirmation = components["schemas"]["PaymentConfirmation"];

/** Creates a client that signs each request. */
export function createSignedClient(baseUrl: string, keyId: string, secret: string) {
  const client = createClient<paths>({ baseUrl });
  client.use({
    async onRequest({ request }) {
      const body = await request.clone().text();
      const timestamp = String(Date.now());
      const text = [request.method, new URL(request.url).pathname, timestamp, body].join("\n");
      request.headers.set("Authorization", `Bearer ${keyId}`);
      request.headers.set("X-Service-Timestamp", timestamp);
      request.headers.set("X-Service-Signature", createHmac("sha256", secret).update(text).digest("hex"));
      return request;
    },
  });
  return client;
}

/** Confirms a payment. A payment that is booked already counts as success. */
export async function confirmPayment(
  client: ReturnType<typeof createSignedClient>,
  loan: string,
  payment: Confirmation,
): Promise<Booking> {
  const { data, error } = await client.POST("/api/v1/partner/cases/{loan}/payments/confirm", {
    params: { path: { loan } },
    body: payment,
  });
  if (data) return data;
  switch (error.code) {
    case "DUPLICATE_CONFIRMATION":
      return error.original; // only this code has `original`
    case "BAD_SIGNATURE":
      throw new Error(`The signed text differs: the service hashed ${error.canonicalSha256}.`);
    default:
      throw new Error(`${error.code}: ${error.detail}`); // new codes arrive here, too
  }
}
