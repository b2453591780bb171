import { isEntity } from "./entity.ts";
import type { Export, Surface } from "./surface.ts";

/**
 * The names from third-party packages that our packages may re-export, each with its package. They have docstrings of
 * their own.
 */
const ALLOWED_RE_EXPORTS: ReadonlyMap<string, string> = new Map([
  // Every function of our packages takes an EntityManager. Thanks to this re-export, callers need not depend on
  // MikroORM's package.
  ["EntityManager", "@mikro-orm/postgresql"],
]);

/**
 * Returns what is missing in a package's docstrings, one sentence each. An exported table (entity) needs no example,
 * because the example of its schema covers it.
 */
export function docstringFaults({ of, exports, reExports, schema }: Surface): string[] {
  return [
    ...exports.flatMap((one) => [...faultsOf(one), ...exampleMissing(one)]),
    ...schema.flatMap((one) => [...faultsOf(one), ...(isEntity(one.text) ? [] : exampleMissing(one))]),
    ...reExports
      .filter(({ name, from }) => !from.startsWith("@collections/") && ALLOWED_RE_EXPORTS.get(name) !== from)
      .map(
        ({ name, from }) =>
          `${name} is re-exported from ${from}: add the reason to tooling/surface/src/docstring-faults.ts`,
      ),
  ].map((fault) => `${of.folder}: ${fault}`);
}

function faultsOf({ name, doc }: Export): string[] {
  if (!doc || doc.text === "") return [`${name} has no docstring`];
  return doc.otherTags.map((tag) => `${name} has a tag @${tag}, which is not shown: write a sentence instead`);
}

function exampleMissing({ name, kind, doc }: Export): string[] {
  if (kind === "type" || (doc && doc.examples.some((example) => example.trim() !== ""))) return [];
  return [`${name} has no @example`];
}
