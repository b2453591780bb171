import { Command } from "commander";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EXIT, Refusal } from "../terminal/refusal.ts";
import { answer } from "../terminal/with-database.ts";
import { counted } from "../../desk/counted.ts";

/**
 * `persisted-operations …`: registers GraphQL documents, so that the app can send a document's hash instead of its
 * text.
 */
export function persistedOperationsCommand(): Command {
  const group = new Command("persisted-operations").description("Register the operations of an app by their hashes.");
  group
    .command("make")
    .argument("<paths...>", "files that end in .graphql, or folders that contain such files")
    .description("Check GraphQL documents against the schema, and write the file for PERSISTED_OPERATIONS_FILE.")
    .requiredOption("--out <file>", "the file to write; an existing file is replaced")
    .addHelpText(
      "after",
      `
Each file is one GraphQL document with all of its fragments. Its hash is the SHA-256 of the bytes of the file.

Example:
  pnpm collections persisted-operations make app/src/operations --out operations.json`,
    )
    .action((paths: string[], { out }: { out: string }) => make(paths, out));
  return group;
}

async function make(paths: string[], out: string): Promise<void> {
  // Import the schema only when this command runs: it is a third of all modules, and no other command needs it.
  const { faultsOf, hashOf } = await import("../../graphql/requests/persisted-operations.ts");
  const files = [...new Set(paths.flatMap(documentsAt))].toSorted();
  if (files.length === 0) throw new Refusal("NO_DOCUMENTS", "There is no file that ends in .graphql.", EXIT.notFound);
  const documents = files.map((file) => ({ file, text: readFileSync(file, "utf8") }));
  const faults = documents.flatMap(({ file, text }) => faultsOf(text).map((fault) => `${file}: ${fault}`));
  if (faults.length > 0) throw new Refusal("INVALID_DOCUMENTS", faults.join("\n"));
  const registered = Object.fromEntries(documents.map(({ text }) => [hashOf(text), text]));
  writeFileSync(out, `${JSON.stringify(registered, null, 2)}\n`);
  const operations = documents.map(({ file, text }) => ({ file, sha256: hashOf(text) }));
  const lines = operations.map(({ file, sha256 }) => `${sha256}  ${file}`);
  answer(
    { out, operations },
    [...lines, `Wrote ${counted(operations.length, "GraphQL document")} to ${out}.`].join("\n"),
  );
}

/** Returns the path of a file, or the paths of all `.graphql` files in a folder and its subfolders. */
function documentsAt(path: string): string[] {
  if (!statSync(path, { throwIfNoEntry: false })) {
    throw new Refusal("NO_SUCH_FILE", `There is no file or folder ${path}.`, EXIT.notFound);
  }
  if (!statSync(path).isDirectory()) return [path];
  const names = readdirSync(path, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(".graphql")).map((name) => join(path, name));
}
