/**
 * Why a statement is never sent on a cluster; undefined for every other statement. The linter, the audit and the verdicts
 * make no other exception.
 */
export function reasonNotSent(name: string): string | undefined {
  if (name.endsWith("-of-many")) return "for keys of several lenders: on a cluster a batch has one lender";
  return NOT_SENT.get(name);
}

const NOT_SENT: ReadonlyMap<string, string> = new Map([]);
