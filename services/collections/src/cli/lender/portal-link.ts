import { transaction } from "@collections/database";
import { createPortalLink, SIGN_IN_LINK_TTL_MS } from "@collections/operators";
import type { Command } from "commander";
import { consoleUrl, portalName, signInUrl } from "../../settings/console-url.ts";
import { machineTimeZone, momentText } from "../terminal/local-time.ts";
import { EXIT, Refusal } from "../terminal/refusal.ts";
import { answer, lenderNamed, withDatabase } from "../terminal/with-database.ts";

const LINK_MINUTES = SIGN_IN_LINK_TTL_MS / 60_000;

/** Adds `lender portal-link` to the commands of lenders. */
export function addPortalLinkCommand(lender: Command): void {
  lender
    .command("portal-link")
    .argument("<code>", "the lender's code")
    .option("--name <name>", "the name of the person, as the audit will show it")
    .description(
      `Create a link with which the lender's staff signs in to the portal once, within ${LINK_MINUTES} minutes.`,
    )
    .addHelpText(
      "after",
      `
The portal has the pages of the console, restricted to this lender: figures of the day, search, cases, deliveries and their
replay, files, settings and keys. The staff can change the callback, and create and revoke keys. Whoever opens the link first can sign in, so send it over a safe channel. PUBLIC_URL sets the origin
of the link. Lenders create links of their own with POST /api/v1/partner/portal-links.

Example:
  pnpm collections lender portal-link ACME --name Ravi --json`,
    )
    .action((code: string, { name }: { name?: string }) => link(code, name));
}

async function link(code: string, person: string | undefined): Promise<void> {
  await withDatabase(async ({ config, em }) => {
    const lender = await lenderNamed(em(), code);
    if (!config.hasConsole) {
      const detail = "The console is off: set CONSOLE=on for the service and for this command.";
      throw new Refusal("CONSOLE_OFF", detail, EXIT.notUnderstood);
    }
    const given = { lenderId: lender.id, name: portalName(lender.code, person) };
    const { token, expiresAt } = await transaction(em(), (tx) => createPortalLink(tx, given, new Date()));
    const url = signInUrl(consoleUrl(config), token);
    const until = momentText(expiresAt, machineTimeZone());
    answer({ url, expiresAt }, `${url}\nThe link signs ${given.name} in once, until ${until}.`);
  });
}
