import { createHash } from "node:crypto";
import { checkName, checkTenantId } from "./endpoint-input.ts";

/**
 * Names an endpoint. A tenant's id means its unnamed endpoint. With `endpoint`, it is the tenant's endpoint of that name.
 *
 * @example
 * const crm: EndpointRef = { tenantId, endpoint: "crm" };
 * const status = await endpointOf(em, crm);
 */
export type EndpointRef = string | { readonly tenantId: string; readonly endpoint?: string | null | undefined };

/** The character of a UUID that is its version. */
const VERSION_AT = 14;

/**
 * Returns the address of an endpoint: the value of `lender_id` in its rows. The address of an unnamed endpoint is the
 * tenant's id. Each named endpoint has an address of its own, so it has its own deliveries, numbers, state and replays.
 * @throws InvalidEndpointError
 */
export function addressOf(ref: EndpointRef): string {
  if (typeof ref === "string") return ref;
  const { tenantId, endpoint } = ref;
  return endpoint === undefined || endpoint === null ? tenantId : addressOfNamed(tenantId, endpoint);
}

/**
 * Returns the address of a named endpoint: a UUID of version 8 from the SHA-256 of the tenant and the name. Every process
 * computes the same address, so none has to read it.
 */
export function addressOfNamed(tenantId: string, name: string): string {
  checkTenantId(tenantId);
  checkName(name);
  const bytes = createHash("sha256").update(`webhooks.endpoint/${tenantId.toLowerCase()}/${name}`).digest();
  bytes[6] = 0x80 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  return bytes.toString("hex", 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** Whether an id may be the address of a named endpoint. All other ids are tenants. */
export function mayBeNamed(address: string): boolean {
  return address[VERSION_AT] === "8";
}
