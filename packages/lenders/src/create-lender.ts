import { isUniqueViolation, newId } from "@collections/database";
import type { Tx } from "@collections/entities";
import { createKey, type IssuedKey } from "./key/api-key.ts";
import { recordAct } from "./lender/audit.ts";
import { InvalidLenderError } from "./lender/lender-fault.ts";
import { type NewLender, readNewLender } from "./lender/lender-input.ts";
import { type Lender, toLender } from "./lender/lender.ts";
import { LenderEntity } from "./schema.ts";
import { checkWhatsappPair, columnsOf, type LenderColumns } from "./lender/lender-columns.ts";
import type { Vault } from "./secret/vault.ts";

/**
 * Registers a lender and its first API key, which also signs the webhooks to the lender. The secret cannot be read
 * again later. `environment` is the deployment's name, and is part of the secret. Throws InvalidLenderError.
 *
 * @example
 * const acme = { code: "ACME", name: "Acme Finance", currency: "INR", environment: "sandbox" };
 * const { lender, apiKeyId, hmacSecret } = await transaction(em, (tx) => createLender(tx, vault, acme));
 */
export async function createLender(
  tx: Tx,
  vault: Vault,
  lender: NewLender & { environment: string },
  now: Date = new Date(),
): Promise<{ lender: Lender } & IssuedKey> {
  const { code, ...values } = readNewLender(lender);
  const id = newId();
  const row = tx.create(LenderEntity, {
    ...(columnsOf(vault, id, values) as LenderColumns),
    id,
    code,
    state: "active",
    createdAt: now,
    updatedAt: now,
  });
  checkWhatsappPair(row);
  await insert(tx, code);
  recordAct(tx, { lenderId: id, act: "lender.created", data: { code } }, now);
  const issued = await createKey(tx, vault, { lenderId: id, environment: lender.environment }, now);
  return { lender: toLender(row), ...issued };
}

async function insert(tx: Tx, code: string): Promise<void> {
  try {
    await tx.flush();
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new InvalidLenderError([
      { code: "DUPLICATE_CODE", field: "code", detail: `A lender with the code ${code} already exists.` },
    ]);
  }
}
