import type { Statement } from "@collections/database";

const ON_CLUSTER = "-on-cluster";

/** The statements that a cluster receives, and the reasons why it does not receive the others. */
export interface SentStatements {
  readonly sent: readonly Statement[];
  /** Reasons by name. */
  readonly notSent: ReadonlyMap<string, string>;
}

/**
 * Separates the statements that are never sent on a cluster. The linter, the audit and the verdicts make no other
 * exception. The product chooses between the two kinds by `isDistributed`.
 */
export function sentOnCluster(statements: readonly Statement[]): SentStatements {
  const names = new Set(statements.map(({ name }) => name));
  const reasons = statements.flatMap(({ name }) => {
    const reason = reasonNotSent(name, names);
    return reason === undefined ? [] : [[name, reason] as const];
  });
  const notSent = new Map(reasons);
  return { sent: statements.filter(({ name }) => !notSent.has(name)), notSent };
}

function reasonNotSent(name: string, names: ReadonlySet<string>): string | undefined {
  if (name.endsWith("-of-many")) return "for keys of several lenders; on a cluster a batch has one lender";
  if (names.has(name + ON_CLUSTER)) return `a cluster is sent ${name}${ON_CLUSTER}`;
  return NOT_SENT.get(name);
}

const NOT_SENT: ReadonlyMap<string, string> = new Map([
  ["lenders.keys-by-id", "a cluster finds the lender of a key first: lenders.lenders-of-keys, lenders.key-of-lender"],
  ["lenders.signing-keys", "a cluster is sent lenders.signing-keys-of-lender"],
]);
