import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

// Loads the package as a browser or an edge worker would: without the "node" condition, without any built-in module
// and without Node's globals.
const START = `
import { registerHooks } from "node:module";
const loaded = [];
registerHooks({
  resolve(specifier, context, nextResolve) {
    if (specifier.startsWith("node:")) throw new Error("built-in module: " + specifier);
    const resolved = nextResolve(specifier, { ...context, conditions: context.conditions.filter((each) => each !== "node") });
    loaded.push(resolved.url.split("/").at(-1));
    return resolved;
  },
});
const [indexUrl, given] = process.argv.slice(1);
const print = console.log;
delete globalThis.Buffer;
delete globalThis.process;
delete globalThis.crypto;
const signing = await import(indexUrl);
`;

/**
 * Runs a script without Node's modules and globals. In the script, `signing` is the package and `given` is the second
 * argument. Returns the value of the script's variable `result`, and the names of the loaded files.
 */
export function runWithoutNode(script: string, given: string): { result: unknown; loaded: string[] } {
  const program = `${START}${script}\nprint(JSON.stringify({ result, loaded }));`;
  const indexUrl = new URL("../src/index.ts", import.meta.url).href;
  const output = execFileSync(process.execPath, ["--input-type=module", "--eval", program, indexUrl, given], {
    cwd: fileURLToPath(new URL("..", import.meta.url)),
    encoding: "utf8",
  });
  return JSON.parse(output) as { result: unknown; loaded: string[] };
}
