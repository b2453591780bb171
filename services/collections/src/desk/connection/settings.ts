import { isDeepStrictEqual } from "node:util";
import { changeLender } from "@collections/flows";
import { InvalidLenderError, type Lender, LenderNotFoundError, type SettingChanges } from "@collections/lenders";
import { endpointOf } from "@collections/webhooks";
import type { DeskOutcome } from "../acts.ts";
import { type ConnectionActing, lenderIn } from "./acting.ts";

/** The settings of a lender as texts of a form. An empty text removes a URL. Each line has a contact. */
export interface TypedSettings {
  readonly callbackUrl: string;
  readonly mintLinkUrl: string;
  readonly technicalContacts: string;
}

/** A change of settings. Only settings that differ from those that the form has shown are changed. */
export interface SettingsChange {
  readonly lenderCode: string;
  readonly shown: TypedSettings;
  readonly wanted: TypedSettings;
  /** The header of mint calls, as `Name: value`. Undefined leaves it as it is, null removes it. */
  readonly mintAuthHeader: string | null | undefined;
  /** An empty reason is not recorded. */
  readonly reason: string;
}

type Field = keyof TypedSettings;

const LABELS: Readonly<Record<string, string>> = {
  callbackUrl: "Callback URL",
  mintLinkUrl: "Mint URL",
  technicalContacts: "Technical contacts",
  mintAuthHeader: "Header of mint calls",
  reason: "Reason",
};

/** Returns the settings of a lender for a form. Undefined if the person sees no such lender. */
export async function settingsFromDesk(acting: ConnectionActing, lenderCode: string) {
  const lender = await lenderIn(acting, lenderCode);
  if (!lender) return undefined;
  const settings = settingsOf(lender, (await endpointOf(acting.em(), lender.id))?.url ?? null);
  return { lenderCode: lender.code, settings, hasMintAuthHeader: lender.hasMintAuthHeader };
}

function settingsOf({ mintLinkUrl, technicalContacts }: Lender, callbackUrl: string | null): TypedSettings {
  return {
    callbackUrl: callbackUrl ?? "",
    mintLinkUrl: mintLinkUrl ?? "",
    technicalContacts: technicalContacts.join("\n"),
  };
}

/** Changes the settings of a lender, with the verb of `lender update`. */
export async function changeSettingsFromDesk(
  acting: ConnectionActing,
  { lenderCode, shown, wanted, mintAuthHeader, reason }: SettingsChange,
): Promise<DeskOutcome> {
  const lender = await lenderIn(acting, lenderCode);
  if (!lender) return { kind: "not_found" };
  const from = valuesOf(shown);
  const changed = Object.entries(valuesOf(wanted)).filter(
    ([field, to]) => !isDeepStrictEqual(from[field as Field], to),
  );
  if (changed.length === 0 && mintAuthHeader === undefined) return refused("Change at least one setting.");
  const { em, vault, allow, environment } = acting;
  try {
    await changeLender(
      em(),
      { vault, allow, environment },
      lender.id,
      { ...Object.fromEntries(changed), ...(mintAuthHeader !== undefined && { mintAuthHeader }) },
      { reason: reason === "" ? undefined : reason, checkChanges: (changes) => refuseIfChanged(changes, from) },
    );
    return { kind: "done" };
  } catch (error) {
    if (error instanceof InvalidLenderError) {
      return refused(error.faults.map(({ field, detail }) => `${LABELS[field] ?? field}: ${detail}`).join(" "));
    }
    if (error instanceof ChangedMeanwhile) return refused(error.message);
    if (error instanceof LenderNotFoundError) return { kind: "not_found" };
    throw error;
  }
}

function valuesOf({ callbackUrl, mintLinkUrl, technicalContacts }: TypedSettings) {
  const urlOf = (text: string) => (text.trim() === "" ? null : text.trim());
  const lines = technicalContacts.split(/[\r\n,]+/).map((line) => line.trim());
  return {
    callbackUrl: urlOf(callbackUrl),
    mintLinkUrl: urlOf(mintLinkUrl),
    technicalContacts: lines.filter((line) => line !== ""),
  };
}

/** Refuses to overwrite a setting that another person has changed since the form was shown. */
function refuseIfChanged(changes: SettingChanges, shown: Readonly<Record<Field, unknown>>): void {
  for (const [field, change] of Object.entries(changes)) {
    if (change === "changed" || isDeepStrictEqual(change.from, shown[field as Field])) continue;
    const now = [change.from as string | readonly string[] | null].flat().join(", ");
    throw new ChangedMeanwhile(
      `${LABELS[field]} was changed while you edited it, and is now ${now === "" ? "empty" : now}. Check it, and send the form again.`,
    );
  }
}

/** Thrown to roll back an update of settings that another person has changed. */
class ChangedMeanwhile extends Error {
  override readonly name = "ChangedMeanwhile";
}

function refused(detail: string) {
  return { kind: "refused" as const, detail };
}
