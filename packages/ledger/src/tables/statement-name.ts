/** Returns the name of a statement: `general-ledger.add-block` for the schema `general_ledger`. */
export function statementName(schema: string, what: string): string {
  return `${schema.replaceAll("_", "-")}.${what}`;
}
