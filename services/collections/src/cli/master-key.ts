import { resealSecrets } from "@collections/lenders";
import { Command } from "commander";
import { EXIT, Refusal } from "./refusal.ts";
import { answer, withDatabase } from "./with-database.ts";

/** `master-key …`: the key that seals every secret at rest. */
export function masterKeyCommand(): Command {
  const masterKey = new Command("master-key").description("The key that seals every secret at rest.");
  masterKey
    .command("rotate")
    .description("Seal every secret again under MASTER_KEY; MASTER_KEY_PREVIOUS opens what the old one sealed.")
    .addHelpText(
      "after",
      `
Start every process with both keys first, then run this, then take MASTER_KEY_PREVIOUS away.

Example:
  MASTER_KEY=<new> MASTER_KEY_PREVIOUS=<old> pnpm collections master-key rotate`,
    )
    .action(rotate);
  return masterKey;
}

async function rotate(): Promise<void> {
  await withDatabase(async ({ config, vault, em }) => {
    if (config.masterKey === undefined) {
      const detail = "Set MASTER_KEY to the new key and MASTER_KEY_PREVIOUS to the old one.";
      throw new Refusal("REQUIRED", detail, EXIT.notUnderstood);
    }
    const { resealed, unreadable } = await resealSecrets(em(), vault);
    if (unreadable.length > 0) {
      const first = unreadable[0]!.message;
      throw new Refusal("UNREADABLE_SECRETS", `${unreadable.length} secrets do not open; keep the old key. ${first}`);
    }
    answer({ resealed, masterKeyId: vault.masterKeyId }, `${resealed} secrets are sealed under the new key.`);
  });
}
