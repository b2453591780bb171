import { createHash } from "node:crypto";
import { checkName, checkTenantId } from "./endpoint-input.ts";

/**
 * Identifies an endpoint. A tenant's id alone means the tenant's unnamed endpoint. An object with `endpoint` means the
 * tenant's endpoint with that name.
 *
 * @example
 * const crm: EndpointRef = { tenantId, endpoint: "crm" };
 * const status = await endpointOf(em, crm);
 */
export type EndpointRef = string | { readonly tenantId: string; readonly endpoint?: string | null | undefined };

/** The position of the version digit in the text of a UUID. */
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
 * Returns the address of a named endpoint: a UUID of version 8 from the SHA-256 of the tenant and the name. Every
 * process computes the same address, so no process has to read it from the database.
 */
export function addressOfNamed(tenantId: string, name: string): string {
  checkTenantId(tenantId);
  checkName(name);
  const bytes = createHash("sha256").update(`webhooks.endpoint/${tenantId.toLowerCase()}/${name}`).digest();
  bytes[6] = 0x80 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  return bytes.toString("hex", 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** Whether an address may belong to a named endpoint. Every other address is a tenant's id. */
export function mayBeNamed(address: string): boolean {
  return address[VERSION_AT] === "8";
}
