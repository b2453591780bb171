import type { AccountRules, ChartDefinition, NormalSide } from "./chart.ts";
import type { ChartRules, KindRules, Minimums } from "./chart-migrations.ts";
import { shown } from "./posting-input.ts";

/**
 * Thrown for an invalid chart, such as one with an invalid name or with a kind that names an unknown account.
 *
 * @example
 * try {
 *   defineChart({ accounts: ["cash"], kinds: { sale: { debit: "cash", credit: "revenue" as "cash" } } });
 * } catch (error) {
 *   if (error instanceof InvalidChartError) console.error(error.message);
 * }
 */
export class InvalidChartError extends Error {
  override readonly name = "InvalidChartError";
  readonly code = "INVALID_CHART";
}

/** Checks the definition of a chart, and returns its rules. The caller may be JavaScript, so types are checked too. */
export function chartRules({ accounts: given, kinds, version = 1, another = false }: ChartDefinition): ChartRules {
  const accounts = isList(given) ? given : Object.keys(given ?? {});
  const rules = kindRules(accounts, kinds);
  if (!Number.isSafeInteger(version) || version < 1) {
    throw new InvalidChartError(`The chart's version is ${JSON.stringify(version)}; expected a whole number from 1.`);
  }
  if (typeof another !== "boolean") {
    throw new InvalidChartError(`The chart's another is ${JSON.stringify(another)}; expected true or false.`);
  }
  return { accounts, rules, minimums: isList(given) ? new Map() : minimumsOf(given), version };
}

function isList(accounts: ChartDefinition["accounts"]): accounts is readonly string[] {
  return Array.isArray(accounts);
}

const NAME = /^[a-z][a-z0-9_]{0,39}$/;

function kindRules(accounts: readonly string[], kinds: ChartDefinition["kinds"]): KindRules {
  if (accounts.length === 0) throw new InvalidChartError("The chart has no accounts.");
  if (typeof kinds !== "object" || kinds === null || Object.keys(kinds).length === 0) {
    throw new InvalidChartError("The chart has no kinds of transfer.");
  }
  for (const name of [...accounts, ...Object.keys(kinds)] as unknown[]) {
    if (typeof name === "string" && NAME.test(name) && name !== "correction") continue;
    throw new InvalidChartError(
      `${JSON.stringify(name)} is not a valid name for an account or a kind; expected 1 to 40 characters of a-z, 0-9 ` +
        `and _, beginning with a letter, and not "correction".`,
    );
  }
  const rules = new Map<string, { debit: readonly string[]; credit: readonly string[] }>();
  for (const [kind, { debit, credit }] of Object.entries(kinds)) {
    const rule = { debit: [debit].flat(), credit: [credit].flat() };
    const unknown = [...rule.debit, ...rule.credit].find((name) => !accounts.includes(name));
    if (unknown !== undefined || rule.debit.length === 0 || rule.credit.length === 0) {
      const fault =
        unknown === undefined
          ? "needs an account to debit and an account to credit"
          : `names the unknown account ${JSON.stringify(unknown)}`;
      throw new InvalidChartError(`The kind ${kind} ${fault}; expected one of ${accounts.join(", ")}.`);
    }
    rules.set(kind, rule);
  }
  return rules;
}

const MAX_MINIMUM = 2n ** 63n - 1n;

function minimumsOf(accounts: Readonly<Record<string, AccountRules>>): Minimums {
  const minimums = new Map<string, { normalSide: NormalSide; minimumMinor: bigint }>();
  for (const [kind, rules] of Object.entries<Partial<AccountRules> | null>(accounts)) {
    const { normalSide, minimum, ...others } = rules ?? {};
    if (normalSide !== "debit" && normalSide !== "credit") {
      const expected = 'expected "debit" or "credit"';
      throw new InvalidChartError(`The normalSide of the account ${kind} is ${shown(normalSide)}; ${expected}.`);
    }
    const [unknown] = Object.keys(others);
    if (unknown !== undefined) {
      const expected = "expected normalSide and minimum";
      throw new InvalidChartError(`The account ${kind} has the unknown rule ${shown(unknown)}; ${expected}.`);
    }
    if (minimum === undefined) continue;
    if (typeof minimum !== "bigint" || minimum > MAX_MINIMUM || minimum < -MAX_MINIMUM) {
      const expected = "expected a bigint of minor units from -(2^63 - 1) to 2^63 - 1, such as 0n";
      throw new InvalidChartError(`The minimum of the account ${kind} is ${shown(minimum)}; ${expected}.`);
    }
    minimums.set(kind, { normalSide, minimumMinor: minimum });
  }
  return minimums;
}
