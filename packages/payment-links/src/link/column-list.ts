/** Returns a SELECT list that renames the columns of `alias` to their property names: `l.case_id as "caseId", …`. */
export function columnList(alias: string, properties: readonly string[]): string {
  return properties.map((property) => `${alias}.${snakeCase(property)} as "${property}"`).join(", ");
}

function snakeCase(property: string): string {
  return property.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}
