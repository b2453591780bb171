import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const DOCUMENTS = fileURLToPath(new URL("../../../docs/field-app", import.meta.url));
const BLOCK = /^```graphql\n([\s\S]*?)^```$/gm;
const NAMED = /^(?:query|mutation|subscription) (\w+)/;

/** The operations of docs/field-app/, by their names: what an app's developer copies. */
export function documentedOperations(): ReadonlyMap<string, string> {
  const blocks = globSync("**/*.md", { cwd: DOCUMENTS }).flatMap((name) =>
    [...readFileSync(`${DOCUMENTS}/${name}`, "utf8").matchAll(BLOCK)].map(([, text]) => text!),
  );
  return new Map(blocks.flatMap((text) => (NAMED.test(text) ? [[NAMED.exec(text)![1]!, text]] : [])));
}
