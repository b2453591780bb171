import { badInput } from "./client-error.ts";

/** Types that have a global id. */
export const NODE_TYPES = ["Case", "EarningLine", "FieldPartner", "PaymentLink", "Session"] as const;

const PLAIN = new RegExp(`^(${NODE_TYPES.join("|")}):([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$`);

/** Encodes the global id of a node: its type and its UUID, in a form that is opaque to clients. */
export function encodeId(typename: string, id: string | number | bigint): string {
  return Buffer.from(`${typename}:${id}`).toString("base64url");
}

/** Returns the type and the UUID in a global id. Throws BAD_INPUT for other text, so only UUIDs reach the database. */
export function decodeId(globalId: string): { typename: string; id: string } {
  const [, typename, id] = PLAIN.exec(Buffer.from(globalId, "base64url").toString("latin1")) ?? [];
  if (typename === undefined || id === undefined) {
    throw badInput("Send an id exactly as an `id` field returned it.");
  }
  return { typename, id };
}
