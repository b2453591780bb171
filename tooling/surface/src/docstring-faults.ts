import { isEntity } from "./entity.ts";
import type { Export, Surface } from "./surface.ts";

/** Names of other people's packages that one of ours hands on: their docstrings are theirs. */
const HANDED_ON: ReadonlyMap<string, string> = new Map([
  // Every verb takes it, so that who calls one need not know MikroORM's package.
  ["EntityManager", "@mikro-orm/postgresql"],
]);

/** What the docstrings of a package lack, a sentence each. A table needs no example: the schema that it is in has one. */
export function docstringFaults({ of, exports, handedOn, schema }: Surface): string[] {
  return [
    ...exports.flatMap((one) => [...faultsOf(one), ...exampleMissing(one)]),
    ...schema.flatMap((one) => [...faultsOf(one), ...(isEntity(one.text) ? [] : exampleMissing(one))]),
    ...handedOn
      .filter(({ name, from }) => !from.startsWith("@collections/") && HANDED_ON.get(name) !== from)
      .map(({ name, from }) => `${name} is handed on from ${from}: say why in tooling/surface/src/docstring-faults.ts`),
  ].map((fault) => `${of.folder}: ${fault}`);
}

function faultsOf({ name, doc }: Export): string[] {
  if (!doc || doc.text === "") return [`${name} has no docstring`];
  return doc.otherTags.map((tag) => `${name} has a tag @${tag}, which is not shown: write a sentence`);
}

function exampleMissing({ name, kind, doc }: Export): string[] {
  if (kind === "type" || (doc && doc.examples.some((example) => example.trim() !== ""))) return [];
  return [`${name} has no @example`];
}
