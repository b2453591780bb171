import { type EntityManager, query, statement } from "@collections/database";
import { mayBeNamed } from "./address.ts";
import { type TenantNames, tenantNames } from "./old-names.ts";

/** The tenant and the name of an endpoint. `endpoint` is absent for the tenant's unnamed endpoint. */
export interface Recipient extends TenantNames {
  readonly endpoint?: string;
}

/** The recipients that this process has read, by address. A recipient never changes. */
const recipients = new Map<string, Recipient>();

/**
 * Returns the recipient with this address. A tenant's id needs no query, unless it is a UUID of version 8. Each named
 * endpoint is read only once in a process.
 */
export function recipientOf(em: EntityManager, address: string): Recipient | Promise<Recipient> {
  return knownRecipient(address) ?? readRecipient(em, address);
}

/** Returns the recipient with an address, or undefined if this process has not read it yet. */
export function knownRecipient(address: string): Recipient | undefined {
  return mayBeNamed(address) ? recipients.get(address) : tenantNames(address);
}

async function readRecipient(em: EntityManager, address: string): Promise<Recipient> {
  const [row] = await query<RecipientRow>(em, selectRecipient, [address]);
  if (!row) return tenantNames(address);
  const recipient = recipientIn(row, address);
  recipients.set(address, recipient);
  return recipient;
}

function recipientIn({ tenantId, name }: RecipientRow, address: string): Recipient {
  // Not every UUID of version 8 is the address of a named endpoint: a tenant's own id may be of version 8 too.
  if (tenantId === null || name === null) return tenantNames(address);
  return { ...tenantNames(tenantId), endpoint: name };
}

interface RecipientRow {
  readonly tenantId: string | null;
  readonly name: string | null;
}

const selectRecipient = statement(
  "webhooks.recipient",
  `select tenant_id as "tenantId", name from webhooks.endpoint where lender_id = $1`,
);
