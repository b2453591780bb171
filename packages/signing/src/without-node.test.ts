import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

// Loads the package as a browser or an edge worker would: without the "node" condition, without any built-in module
// and without Node's globals. Then it signs every vector, as text where the vector has text.
const PROGRAM = `
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
const [indexUrl, vectorsText] = process.argv.slice(1);
const { vectors } = JSON.parse(vectorsText);
const print = console.log;
delete globalThis.Buffer;
delete globalThis.process;
delete globalThis.crypto;
const { sign, signingKey, verify, canonicalSha256 } = await import(indexUrl);
const bodyOf = ({ body, bodyBase64, bodyRepeat }) =>
  body ?? (bodyRepeat ? bodyRepeat.text.repeat(bodyRepeat.times) : Uint8Array.from(atob(bodyBase64), (c) => c.charCodeAt(0)));
const agreed = vectors.filter((vector) => {
  const request = { ...vector, body: bodyOf(vector) };
  return (
    sign(request) === vector.signature.toLowerCase() &&
    verify({ ...request, secret: signingKey(vector.secret) }) &&
    !verify({ ...request, timestamp: "0" }) &&
    canonicalSha256(request) === vector.canonicalSha256
  );
});
print(JSON.stringify({ agreed: agreed.length, loaded }));
`;

test("the package signs and verifies every vector where there is no Node", () => {
  const vectorsText = readFileSync(new URL("../vectors.json", import.meta.url), "utf8");
  const { vectors } = JSON.parse(vectorsText) as { readonly vectors: readonly unknown[] };
  const indexUrl = new URL("index.ts", import.meta.url).href;

  const output = execFileSync(process.execPath, ["--input-type=module", "--eval", PROGRAM, indexUrl, vectorsText], {
    cwd: fileURLToPath(new URL("..", import.meta.url)),
    encoding: "utf8",
  });

  const { agreed, loaded } = JSON.parse(output) as { readonly agreed: number; readonly loaded: readonly string[] };
  expect(agreed).toBe(vectors.length);
  expect(loaded).toContain("hmac-portable.ts");
  expect(loaded).not.toContain("hmac-node.ts");
});
