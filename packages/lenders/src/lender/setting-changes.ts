import { isDeepStrictEqual } from "node:util";
import { percentText } from "@collections/money";
import type { LenderValues } from "./lender-input.ts";
import type { LenderRow } from "../schema.ts";

/** How the audit records the change of one setting: the values before and after, or for a secret only `changed`. */
export type SettingChange = { readonly from: unknown; readonly to: unknown } | "changed";

/** The changed settings of a lender, by the name of the setting. */
export type SettingChanges = Readonly<Record<string, SettingChange>>;

const SECRETS: ReadonlySet<string> = new Set([
  "mintAuthHeader",
  "whatsappToken",
  "whatsappAppSecret",
  "whatsappVerifyToken",
] satisfies (keyof LenderValues)[]);

/**
 * Returns the settings among `fields` that differ between two states of a lender's row. A secret that is sealed again
 * counts as changed, because sealed values cannot be compared.
 */
export function settingChanges(before: LenderRow, after: LenderRow, fields: readonly string[]): SettingChanges {
  const changes = fields.flatMap((field): [string, SettingChange][] => {
    const [from, to] = [settingOf(before, field), settingOf(after, field)];
    if (isDeepStrictEqual(from, to)) return [];
    return [[field, SECRETS.has(field) ? "changed" : { from, to }]];
  });
  return Object.fromEntries(changes);
}

/** Returns the value of a setting as JSON can store it. */
function settingOf(row: LenderRow, field: string): unknown {
  return field === "commissionPercent" ? percentText(row.commission) : row[field as keyof LenderRow];
}
