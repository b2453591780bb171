import { readInstant } from "@collections/cases";
import { transaction } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import {
  type ApiKey,
  createKey,
  DEBUGGER_OPEN_MS,
  keysOf,
  type Lender,
  lenderById,
  lenderOfKey,
  openDebugger,
  retireKey,
  revokeKey,
  setSigningKey,
} from "@collections/lenders";
import { Command, InvalidArgumentError } from "commander";
import { momentText } from "../terminal/local-time.ts";
import { formatOf, pageOf, type PageOptions, printPage, withPageOptions } from "../terminal/page-options.ts";
import { type LocalMoment, readPoint } from "../terminal/read-options.ts";
import { notFound } from "../terminal/refusal.ts";
import { answer, lenderNamed, type Operator, withDatabase } from "../terminal/with-database.ts";

const MINUTE_MS = 60_000;
const DEBUGGER_OPEN_MINUTES = DEBUGGER_OPEN_MS / MINUTE_MS;

/** `key …`: create, list, retire and revoke the API keys of a lender. */
export function keyCommand(): Command {
  const key = new Command("key").description(
    "API keys: lenders sign their requests with them, and the service signs webhooks.",
  );
  key
    .command("create")
    .argument("<lender>", "the lender's code")
    .description("Create another key and print its secret, which is not shown again.")
    .addHelpText(
      "after",
      `
Older keys stay valid, and one of them still signs webhooks. The new key signs webhooks as soon as the lender has used
it for a request, or after \`key use-for-signing\`.

Example:
  pnpm collections key create ACME`,
    )
    .action((code: string) => withDatabase((operator) => create(operator, code)));
  const listCommand = key
    .command("list")
    .argument("<lender>", "the lender's code")
    .description("List the keys of a lender, the oldest first, with state, role and last use.");
  withPageOptions(listCommand, readKeyId)
    .addHelpText("after", "\nExample:\n  pnpm collections key list ACME --json")
    .action((code: string, options: PageOptions<string>) => list(code, options));
  key.addCommand(retireCommand());
  key.addCommand(revokeCommand());
  key
    .command("use-for-signing")
    .argument("<key-id>", "lk_…")
    .option("--reason <text>", "the reason, for the audit log", "no reason given")
    .description("Sign webhooks and mint calls with this key from now on; its lender must have the secret.")
    .addHelpText("after", "\nExample:\n  pnpm collections key use-for-signing lk_1f0c…")
    .action((keyId: string, { reason }: { reason: string }) =>
      withKey(
        keyId,
        (tx, { id: lenderId }) => setSigningKey(tx, { lenderId, keyId, reason }),
        () => "is the signing key from now on",
      ),
    );
  key.addCommand(debugCommand());
  return key;
}

function retireCommand(): Command {
  return new Command("retire")
    .argument("<key-id>", "lk_…")
    .requiredOption("--on <date>", "when the key ends: a day (from its start in UTC) or a time", instant)
    .option("--reason <text>", "the reason, for the audit log", "no reason given")
    .option("--force", "retire the key even if no other key would be left")
    .description("End a key on a date. It stays valid until then.")
    .addHelpText("after", "\nExample:\n  pnpm collections key retire lk_1f0c… --on 2027-01-31")
    .action(
      (
        keyId: string,
        { on, reason, force: evenIfLast = false }: { on: LocalMoment; reason: string; force?: boolean },
      ) =>
        withKey(
          keyId,
          (tx, { id: lenderId, timeZone }) => retireKey(tx, { lenderId, keyId, on: on(timeZone), reason, evenIfLast }),
          (_, { timeZone }) => `ends on ${momentText(on(timeZone), timeZone)}`,
        ),
    );
}

function revokeCommand(): Command {
  return new Command("revoke")
    .argument("<key-id>", "lk_…")
    .requiredOption("--reason <text>", "the reason, for the audit log")
    .option("--force", "revoke the key even if no other key is left")
    .description("End a key now: within a second no process accepts it. This cannot be undone.")
    .addHelpText("after", '\nExample:\n  pnpm collections key revoke lk_1f0c… --reason "leaked in a log"')
    .action((keyId: string, { reason, force: evenIfLast = false }: { reason: string; force?: boolean }) =>
      withKey(
        keyId,
        (tx, { id: lenderId }) => revokeKey(tx, { lenderId, keyId, reason, evenIfLast }),
        () => "is revoked",
      ),
    );
}

function debugCommand(): Command {
  return new Command("debug")
    .argument("<key-id>", "lk_…")
    .requiredOption("--reason <text>", "the reason, for the audit log")
    .option("--minutes <count>", "how many minutes the debugger stays open", minutes, DEBUGGER_OPEN_MINUTES)
    .description("Open the signature debugger for one key. Outside a sandbox it is closed by default.")
    .addHelpText("after", '\nExample:\n  pnpm collections key debug lk_1f0c… --reason "their first deployment"')
    .action((keyId: string, { reason, minutes }: { reason: string; minutes: number }) =>
      withKey(
        keyId,
        (tx, { id: lenderId }) => openDebugger(tx, { lenderId, keyId, reason, openMs: minutes * MINUTE_MS }),
        ({ debugUntil }, { timeZone }) =>
          `can be used with the signature debugger until ${momentText(debugUntil!, timeZone)}`,
      ),
    );
}

async function create({ config, vault, em }: Operator, code: string): Promise<void> {
  const { id: lenderId, code: lenderCode } = await lenderNamed(em(), code);
  const { environment } = config;
  const { apiKeyId, hmacSecret } = await transaction(em(), (tx) => createKey(tx, vault, { lenderId, environment }));
  const signing = (await keysOf(em(), lenderId)).find((key) => key.signing)?.id;
  const handOver =
    signing === apiKeyId
      ? "It signs webhooks from now on."
      : `Webhooks are signed by ${signing} until the lender first uses this key, or you run \`key use-for-signing\`.`;
  answer(
    { lenderCode, apiKeyId, hmacSecret, signing: signing === apiKeyId },
    [
      `Lender ${lenderCode} has another key.`,
      `  API key id   ${apiKeyId}`,
      `  HMAC secret  ${hmacSecret}`,
      "Hand the id and the secret to the lender over a safe channel now: the secret is not shown again.",
      handOver,
    ].join("\n"),
  );
}

async function list(code: string, { limit, cursor, csv }: PageOptions<string>): Promise<void> {
  const format = formatOf({ csv });
  await withDatabase(async ({ em }) => {
    const { id: lenderId, code: lenderCode, timeZone } = await lenderNamed(em(), code);
    const keys = await keysOf(em(), lenderId);
    const { page, last } = pageOf(keys, limit, cursor === undefined ? undefined : ({ id }) => id === cursor);
    printPage(format, {
      name: "keys",
      items: page.map(shown),
      nextCursor: last?.id ?? null,
      fields: ["apiKeyId", "state", "signing", "createdAt", "retiresAt", "lastUsedAt"],
      columns: {
        KEY: ({ apiKeyId }) => apiKeyId,
        STATE: ({ state }) => state,
        SIGNS: ({ signing }) => (signing ? "yes" : ""),
        CREATED: ({ createdAt }) => momentText(createdAt, timeZone),
        "RETIRES AT": ({ retiresAt }) => (retiresAt ? momentText(retiresAt, timeZone) : ""),
        "LAST USED": ({ lastUsedAt }) => (lastUsedAt ? momentText(lastUsedAt, timeZone) : "never"),
      },
      none: "The lender has no key.",
      about: { lenderCode },
    });
  });
}

/** Finds the lender of an API key, changes the key with `act`, and prints the key's new state. */
async function withKey(
  keyId: string,
  act: (tx: Tx, lender: Lender) => Promise<unknown>,
  does: (key: ApiKey, lender: Lender) => string,
): Promise<void> {
  await withDatabase(async ({ em }) => {
    const lender = await lenderWithKey(em(), keyId);
    await transaction(em(), (tx) => act(tx, lender));
    const keys = await keysOf(em(), lender.id);
    const key = keys.find(({ id }) => id === keyId)!;
    const signedBy = keys.find(({ signing }) => signing)?.id ?? null;
    const signs =
      signedBy === null
        ? "No key is left: the lender cannot call the service, and the service cannot call the lender."
        : `${signedBy} signs webhooks and mint calls.`;
    answer(
      { lenderCode: lender.code, ...shown(key), signedBy },
      `The key ${keyId} of ${lender.code} ${does(key, lender)}. ${signs}`,
    );
  });
}

async function lenderWithKey(em: EntityManager, keyId: string): Promise<Lender> {
  const lenderId = await lenderOfKey(em, keyId);
  const lender = lenderId === undefined ? undefined : await lenderById(em, lenderId);
  if (!lender) throw notFound("api key", keyId);
  return lender;
}

function shown({ id: apiKeyId, ...key }: ApiKey) {
  return { apiKeyId, ...key };
}

/** Reads the moment at which an API key ends. A day without a time means the start of that day in UTC. */
function instant(text: string): LocalMoment {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return readPoint(text);
  const reading = readInstant(`${text}T00:00:00Z`);
  if ("instant" in reading) return () => reading.instant;
  throw new InvalidArgumentError(`"${text}" is not in the calendar. Expected a day such as 2027-01-31, or a time.`);
}

function minutes(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= DEBUGGER_OPEN_MINUTES) return count;
  throw new InvalidArgumentError(`Expected a number from 1 to ${DEBUGGER_OPEN_MINUTES}.`);
}

function readKeyId(text: string): string {
  if (/^lk_[0-9a-z]{1,40}$/.test(text)) return text;
  throw new InvalidArgumentError("Expected the nextCursor of a page.");
}
