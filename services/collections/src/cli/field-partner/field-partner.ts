import { type AssignedWork, assignedWorkOf, caseCountsOf, maskedPhone } from "@collections/cases";
import { publicId, transaction } from "@collections/database";
import {
  clearOtpLimit,
  createFieldPartner,
  issueAccessToken,
  resumeFieldPartner,
  suspendFieldPartner,
  updateFieldPartner,
} from "@collections/field-partners";
import { Command } from "commander";
import { isOpen } from "../../desk/shown-person.ts";
import { addReadCommands } from "./field-partner-read.ts";
import { lenderCodes } from "./payout-words.ts";
import { readReason } from "../terminal/read-options.ts";
import { EXIT, Refusal } from "../terminal/refusal.ts";
import { momentText } from "../terminal/local-time.ts";
import { counted } from "../../desk/counted.ts";
import { answer, idOf, timeZoneOfFieldPartner, withDatabase } from "../terminal/with-database.ts";

/** `field-partner …`: registers, lists, shows and changes field partners, issues their access tokens, and suspends or resumes them. */
export function fieldPartnerCommand(): Command {
  const fieldPartner = new Command("field-partner").description(
    "Register and manage field partners, the people who visit borrowers.",
  );
  fieldPartner
    .command("create")
    .description("Register a field partner.")
    .requiredOption("--name <name>", "the name that lenders and borrowers see")
    .requiredOption("--phone <number>", "the phone number in E.164, such as +919800000001")
    .option("--time-zone <name>", "the time zone, as an IANA name; by default derived from the phone number")
    .addHelpText("after", '\nExample:\n  pnpm collections field-partner create --name "Asha Rao" --phone +919800000001')
    .action((options: { name: string; phone: string; timeZone?: string }) => create(options));
  addReadCommands(fieldPartner);
  fieldPartner
    .command("update")
    .argument("<id>", "the field partner's id")
    .description("Change a person's name, phone number or time zone. The person stays signed in.")
    .option("--name <name>", "the name that lenders and borrowers see")
    .option("--phone <number>", "the new phone number in E.164, with which the person signs in from now on")
    .option("--time-zone <name>", "the time zone, as an IANA name")
    .requiredOption("--reason <text>", "the reason, for the audit log", readReason)
    .addHelpText(
      "after",
      `
If the old phone was lost or stolen, also end the sessions: field-partner suspend, and then field-partner resume.

Example:
  pnpm collections field-partner update fp_0192… --phone +919800000002 --reason "New SIM"`,
    )
    .action((id: string, options: UpdateOptions) => update(id, options));
  fieldPartner
    .command("token")
    .argument("<id>", "the field partner's id")
    .description("Issue an access token for the app, valid for 24 hours.")
    .addHelpText("after", "\nExample:\n  pnpm collections field-partner token fp_0192…")
    .action((id: string) => token(id));
  fieldPartner
    .command("suspend")
    .argument("<id>", "the field partner's id")
    .description("End every session of a person at once, and prevent further sign-ins.")
    .requiredOption("--reason <text>", "the reason, for the audit log")
    .addHelpText(
      "after",
      `
The person keeps their cases. The answer says how many open cases and promises they still have. Nobody can assign another case
to them until they are resumed.

Example:
  pnpm collections field-partner suspend fp_0192… --reason "Phone stolen"`,
    )
    .action((id: string, { reason }: { reason: string }) => suspend(id, reason));
  fieldPartner
    .command("resume")
    .argument("<id>", "the field partner's id")
    .description("Let a suspended person sign in again.")
    .requiredOption("--reason <text>", "the reason, for the audit log")
    .addHelpText("after", '\nExample:\n  pnpm collections field-partner resume fp_0192… --reason "New phone"')
    .action((id: string, { reason }: { reason: string }) => resume(id, reason));
  fieldPartner
    .command("clear-code-limit")
    .argument("<id>", "the field partner's id")
    .description("Reset the limits of sign-in codes and wrong attempts for a person's phone.")
    .requiredOption("--reason <text>", "the reason, for the audit log")
    .addHelpText(
      "after",
      `
The limits of the phone are reset on all devices. Check the identity of the person who asks for the reset: an attacker
may have used up the limits and then ask for a reset.

Example:
  pnpm collections field-partner clear-code-limit fp_0192… --reason "Strangers asked for codes; identity checked"`,
    )
    .action((id: string, { reason }: { reason: string }) => clearCodeLimit(id, reason));
  return fieldPartner;
}

async function create({ name, phone, timeZone }: { name: string; phone: string; timeZone?: string }): Promise<void> {
  await withDatabase(async ({ em }) => {
    const input = { displayName: name, phone, ...(timeZone !== undefined && { timeZone }) };
    const { id } = await transaction(em(), (tx) => createFieldPartner(tx, input));
    const fieldPartnerId = publicId("fp", id);
    answer({ fieldPartnerId }, `Field partner ${fieldPartnerId} is registered.`);
  });
}

interface UpdateOptions {
  name?: string;
  phone?: string;
  timeZone?: string;
  reason: string;
}

async function update(given: string, { name, phone, timeZone, reason }: UpdateOptions): Promise<void> {
  const changes = {
    ...(name !== undefined && { displayName: name }),
    ...(phone !== undefined && { phone }),
    ...(timeZone !== undefined && { timeZone }),
  };
  if (Object.keys(changes).length === 0) {
    throw new Refusal("REQUIRED", "Give --name, --phone or --time-zone.", EXIT.notUnderstood);
  }
  await withDatabase(async ({ em }) => {
    const fieldPartnerId = idOf("fp", "field partner", given);
    const changed = await transaction(em(), (tx) => updateFieldPartner(tx, { fieldPartnerId, changes, reason }));
    const shown = {
      fieldPartnerId: publicId("fp", fieldPartnerId),
      displayName: changed.displayName,
      phone: maskedPhone(changed.phone),
      timeZone: changed.timeZone,
    };
    answer(shown, `${shown.displayName} now has the phone ${shown.phone} and the time zone ${shown.timeZone}.`);
  });
}

async function token(given: string): Promise<void> {
  await withDatabase(async ({ em }) => {
    const id = idOf("fp", "field partner", given);
    const issued = await transaction(em(), (tx) => issueAccessToken(tx, id));
    const timeZone = await timeZoneOfFieldPartner(em(), id);
    answer(
      issued,
      `${issued.accessToken}\nValid until ${momentText(issued.expiresAt, timeZone)}; it is not shown again.`,
    );
  });
}

async function suspend(given: string, reason: string): Promise<void> {
  await withDatabase(async ({ em }) => {
    const id = idOf("fp", "field partner", given);
    // The open cases and promises are counted while the field partner is locked, so a concurrent assignment is either
    // counted or refused.
    const held = await transaction(em(), async (tx) => {
      await suspendFieldPartner(tx, id, new Date(), reason);
      return assignedWorkOf(tx, id);
    });
    const counts = { openCases: held.cases, openPromises: held.promises };
    const codes = await lenderCodes(em());
    const lenders = (await caseCountsOf(em(), [id])).filter(isOpen).map(({ lenderId }) => codes.get(lenderId) ?? "");
    const fieldPartnerId = publicId("fp", id);
    const text = suspendedText(held, { fieldPartnerId, lenderCodes: [...new Set(lenders)].toSorted() });
    answer({ fieldPartnerId, state: "suspended", ...counts }, text);
  });
}

function suspendedText(
  { cases, promises }: AssignedWork,
  { fieldPartnerId, lenderCodes: codes }: { readonly fieldPartnerId: string; readonly lenderCodes: readonly string[] },
): string {
  const ended = "Every session has ended.";
  if (cases === 0) return `${ended} The person has no open case.`;
  const [ofCases, ofPromises] = [counted(cases, "open case"), counted(promises, "open promise")];
  const next = codes.map(
    (code) => `Next: case assign ${code} --from ${fieldPartnerId} --to <field-partner-id> --dry-run`,
  );
  return [
    ended,
    `The person still has ${ofCases} with ${ofPromises}. Other field partners can take them.`,
    ...next,
  ].join("\n");
}

async function resume(given: string, reason: string): Promise<void> {
  await withDatabase(async ({ em }) => {
    const id = idOf("fp", "field partner", given);
    await transaction(em(), (tx) => resumeFieldPartner(tx, id, new Date(), reason));
    answer({ fieldPartnerId: publicId("fp", id), state: "active" }, "The person may sign in again.");
  });
}

async function clearCodeLimit(given: string, reason: string): Promise<void> {
  await withDatabase(async ({ em }) => {
    const id = idOf("fp", "field partner", given);
    const cleared = await transaction(em(), (tx) => clearOtpLimit(tx, { fieldPartnerId: id, reason }, new Date()));
    const { codes, wrongTries } = cleared;
    const text = `The limits are reset: ${codes} codes and ${wrongTries} wrong attempts of the last day are no longer counted.`;
    answer({ fieldPartnerId: publicId("fp", id), ...cleared }, text);
  });
}
