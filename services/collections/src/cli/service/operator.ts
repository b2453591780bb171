import { parsePublicId, publicId, transaction } from "@collections/database";
import {
  createSignInLink,
  openOperatorSessions,
  OPERATOR_ROLES,
  operatorName,
  type OperatorRole,
  type OperatorSession,
  revokeOperator,
  SIGN_IN_LINK_TTL_MS,
} from "@collections/operators";
import { listLenders } from "@collections/lenders";
import { timeIn } from "@collections/local-time";
import { Command, InvalidArgumentError, Option } from "commander";
import { consoleUrl, signInUrl } from "../../settings/console-url.ts";
import { machineTimeZone, momentText } from "../terminal/local-time.ts";
import { formatOf, pageOf, type PageOptions, printPage, withPageOptions } from "../terminal/page-options.ts";
import { readReason } from "../terminal/read-options.ts";
import { EXIT, Refusal } from "../terminal/refusal.ts";
import { answer, idOf, withDatabase } from "../terminal/with-database.ts";
import { counted } from "../../desk/counted.ts";

interface LinkOptions {
  name: string;
  role?: OperatorRole[];
}

interface RevokeOptions {
  session?: string;
  reason?: string;
}

const LINK_MINUTES = SIGN_IN_LINK_TTL_MS / 60_000;

/** `operator …`: lets operators sign in to the console, and ends their sessions. */
export function operatorCommand(): Command {
  const group = new Command("operator").description("Sign-in links and sessions of the operators' console.");
  group
    .command("link")
    .requiredOption("--name <name>", "the operator's name, as the audit will show it")
    .addOption(
      new Option(
        "--role <role...>",
        "what the operator may do; required in production, all roles in a sandbox",
      ).choices(OPERATOR_ROLES),
    )
    .description(`Create a link with which an operator signs in to the console once, within ${LINK_MINUTES} minutes.`)
    .addHelpText(
      "after",
      `
viewer reads, operator also changes cases and settings, money also pays out, reverses and moves payments. Give --role once with
several roles, or several times. Whoever opens the link first can sign in as this operator, so send it over a safe channel.
PUBLIC_URL sets the origin of the link.

Examples:
  pnpm collections operator link --name Asha
  pnpm collections operator link --name Asha --role viewer operator --json`,
    )
    .action((options: LinkOptions) => link(options));
  const listCommand = group
    .command("list")
    .description("List the operators who are signed in to the console, the newest session first.");
  withPageOptions(listCommand, readSessionId)
    .addHelpText("after", "\nExample:\n  pnpm collections operator list --json")
    .action((options: PageOptions<string>) => list(options));
  group
    .command("revoke")
    .argument("<name>", "the operator's name")
    .option("--session <id>", "end only this session, by its id in operator list")
    .option("--reason <text>", "the reason, for the audit log", readReason)
    .description("End an operator's sessions and unused sign-in links.")
    .addHelpText(
      "after",
      `
The exit code is 3 if the operator has no open session and no unused link.

Example:
  pnpm collections operator revoke Asha --reason "Left the team"`,
    )
    .action((name: string, options: RevokeOptions) => revoke(name, options));
  return group;
}

async function link({ name, role }: LinkOptions): Promise<void> {
  await withDatabase(async ({ config, em }) => {
    if (!config.hasConsole) {
      throw new Refusal(
        "CONSOLE_OFF",
        "The console is off: set CONSOLE=on for the service and for this command.",
        EXIT.notUnderstood,
      );
    }
    if (role === undefined && !config.isSandbox) {
      throw new Refusal(
        "NOT_UNDERSTOOD",
        `Give --role: ENVIRONMENT is ${config.environment}, and only in a sandbox a link has all roles.`,
        EXIT.notUnderstood,
      );
    }
    const given = { name, roles: role ?? OPERATOR_ROLES };
    const { token, expiresAt } = await transaction(em(), (tx) => createSignInLink(tx, given, new Date()));
    const url = signInUrl(consoleUrl(config), token);
    answer(
      { url, expiresAt },
      `${url}\nThe link signs ${operatorName(name)} in once, until ${momentText(expiresAt, machineTimeZone())}.`,
    );
  });
}

async function list({ limit, cursor, csv }: PageOptions<string>): Promise<void> {
  const format = formatOf({ csv });
  await withDatabase(async ({ em }) => {
    const timeZone = machineTimeZone();
    const sessions = await openOperatorSessions(em(), new Date());
    const codes = new Map((await listLenders(em())).map((lender) => [lender.id, lender.code]));
    const { page, last } = pageOf(sessions, limit, cursor === undefined ? undefined : ({ id }) => id === cursor);
    printPage(format, {
      name: "operators",
      items: page.map((session) => shownSession(session, codes)),
      nextCursor: last ? publicId("ses", last.id) : null,
      fields: ["id", "name", "roles", "lenderCode", "createdAt", "lastSeenAt", "expiresAt"],
      columns: {
        NAME: ({ name }) => name,
        ROLES: ({ roles, lenderCode }) => (lenderCode === null ? roles.join(", ") : `staff of ${lenderCode}`),
        [`SIGNED IN (${timeZone})`]: ({ createdAt }) => timeIn(timeZone, createdAt),
        "LAST SEEN": ({ lastSeenAt }) => timeIn(timeZone, lastSeenAt),
        UNTIL: ({ expiresAt }) => timeIn(timeZone, expiresAt),
        SESSION: ({ id }) => id,
      },
      none: "Nobody is signed in.",
    });
  });
}

function shownSession({ id, lenderId, ...session }: OperatorSession, codes: ReadonlyMap<string, string>) {
  return { id: publicId("ses", id), ...session, lenderCode: lenderId && (codes.get(lenderId) ?? null) };
}

async function revoke(given: string, { session, reason }: RevokeOptions): Promise<void> {
  const name = operatorName(given);
  const sessionId = session === undefined ? undefined : idOf("ses", "session", session);
  await withDatabase(async ({ em }) => {
    const revoked = await transaction(em(), (tx) => revokeOperator(tx, { name, sessionId, reason }, new Date()));
    const { sessions, links } = revoked;
    if (sessions + links === 0) {
      const what = session === undefined ? "open session and no unused link" : `open session ${session}`;
      throw new Refusal("OPERATOR_NOT_FOUND", `There is no ${what} of the operator ${name}.`, EXIT.notFound);
    }
    answer(
      { name, ...revoked },
      `Ended ${counted(sessions, "session")} and ${counted(links, "unused link")} of ${name}.`,
    );
  });
}

/** Reads a cursor of `operator list`: the id of the last session of the previous page. */
function readSessionId(text: string): string {
  const id = parsePublicId("ses", text);
  if (id !== undefined) return id;
  throw new InvalidArgumentError("Expected the nextCursor of a page.");
}
