import type { Statement } from "@collections/database";

const ON_CLUSTER = "-on-cluster";

/**
 * The statements that a cluster receives, and for each other statement the reason why a cluster does not receive it.
 */
export interface SentStatements {
  readonly sent: readonly Statement[];
  /** The reasons, by the names of the statements. */
  readonly notSent: ReadonlyMap<string, string>;
}

/**
 * Separates the statements that the service sends on a cluster from those that it sends only on plain PostgreSQL. The
 * service chooses between the two by `isDistributed`. The linter, the audit and the recorded verdicts skip the
 * statements for plain PostgreSQL, and no others.
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
  if (name.endsWith("-of-many"))
    return "its keys belong to several lenders; on a cluster each batch has only one lender";
  if (names.has(name + ON_CLUSTER)) return `on a cluster, ${name}${ON_CLUSTER} is sent instead`;
  return NOT_SENT.get(name);
}

const NOT_SENT: ReadonlyMap<string, string> = new Map([
  ["ledger.growing-books", "on a cluster, ledger.lenders-on-cluster is sent instead"],
  ["lenders.keys-by-id", "on a cluster, lenders.lenders-of-keys and then lenders.key-of-lender are sent instead"],
  ["lenders.signing-keys", "on a cluster, lenders.signing-keys-of-lender is sent instead"],
]);
