import { readFileSync } from "node:fs";

const DOCUMENT = new URL("../../../../docs/field-app/README.md", import.meta.url);

/** Returns the operation with this name from docs/field-app, exactly as an app's developer copies it. */
export function documentedQuery(name: string): string {
  const blocks = readFileSync(DOCUMENT, "utf8").matchAll(/^```graphql\n([\s\S]*?)^```$/gm);
  const found = [...blocks].find(([, text]) => new RegExp(`^\\w+ ${name}\\b`).test(text!))?.[1];
  if (found === undefined) throw new Error(`docs/field-app has no operation named ${name}.`);
  return found;
}
