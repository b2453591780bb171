import { transaction } from "@collections/database";
import {
  checkMasterKey,
  recordAct,
  replaceLostMasterKey,
  resealSecrets,
  unreadableSecrets,
  WrongMasterKeyError,
} from "@collections/lenders";
import { Command } from "commander";
import { readConfig } from "../../settings/config.ts";
import { readReason } from "../terminal/read-options.ts";
import { EXIT, Refusal } from "../terminal/refusal.ts";
import { answer, type Operator, withDatabase } from "../terminal/with-database.ts";

/** `master-key …`: replaces the key that seals every secret at rest. */
export function masterKeyCommand(): Command {
  const masterKey = new Command("master-key").description("Replace the key that seals every secret at rest.");
  masterKey
    .command("rotate")
    .description("Seal every secret again under MASTER_KEY. MASTER_KEY_PREVIOUS opens secrets that the old key sealed.")
    .addHelpText(
      "after",
      `
First start every process with both keys. Then run this command. Then remove MASTER_KEY_PREVIOUS.

Example:
  MASTER_KEY=<new> MASTER_KEY_PREVIOUS=<old> pnpm collections master-key rotate`,
    )
    .action(rotate);
  masterKey
    .command("replace-lost")
    .requiredOption("--reason <text>", "the reason, for the audit log of each lender", readReason)
    .description("Accept MASTER_KEY although it does not open this database's secrets, because the old key is lost.")
    .addHelpText(
      "after",
      `
Secrets that were sealed under the lost key can no longer be opened. The command "doctor" lists them, and says what to register again.
First look for the old key, also in backups. If you find it later, it does not open secrets that are sealed under the new key.

Example:
  MASTER_KEY=<new> pnpm collections master-key replace-lost --reason "the old vault was destroyed"`,
    )
    .action(({ reason }: { reason: string }) =>
      withDatabase((operator) => replaceLost(operator, reason), { acceptsWrongKey: true }),
    );
  return masterKey;
}

async function rotate(): Promise<void> {
  requireMasterKey("Set MASTER_KEY to the new key and MASTER_KEY_PREVIOUS to the old one.");
  await withDatabase(async ({ vault, em }) => {
    const { resealed, unreadable } = await resealSecrets(em(), vault);
    if (unreadable.length > 0) {
      const first = unreadable[0]!.message;
      throw new Refusal(
        "UNREADABLE_SECRETS",
        `${unreadable.length} secrets cannot be opened; keep the old key. ${first}`,
      );
    }
    answer({ resealed, masterKeyId: vault.masterKeyId }, `${resealed} secrets are sealed under the new key.`);
  });
}

async function replaceLost({ vault, em }: Operator, reason: string): Promise<void> {
  requireMasterKey("Set MASTER_KEY to the new key.");
  if (await isRight({ vault, em })) {
    throw new Refusal("MASTER_KEY_OPENS", "MASTER_KEY opens this database's secrets: nothing was changed.");
  }
  const closed = await unreadableSecrets(em(), vault);
  const lenderIds = [...new Set(closed.map(({ lenderId }) => lenderId))];
  const { masterKeyId } = vault;
  await transaction(em(), async (tx) => {
    await replaceLostMasterKey(tx, vault);
    for (const lenderId of lenderIds)
      recordAct(tx, { lenderId, act: "master_key.replaced", reason, data: { masterKeyId } });
  });
  answer(
    { masterKeyId, unreadable: closed.length, lenders: lenderIds.length },
    `The master key ${masterKeyId} is accepted. ${closed.length} secrets of ${lenderIds.length} lenders cannot be opened: see collections doctor.`,
  );
}

async function isRight({ vault, em }: Pick<Operator, "vault" | "em">): Promise<boolean> {
  try {
    await checkMasterKey(em(), vault);
    return true;
  } catch (error) {
    if (error instanceof WrongMasterKeyError) return false;
    throw error;
  }
}

/** Refuses the development key of a sandbox, which is used if MASTER_KEY is not set. */
function requireMasterKey(detail: string): void {
  if (readConfig(process.env).masterKey === undefined) throw new Refusal("REQUIRED", detail, EXIT.notUnderstood);
}
