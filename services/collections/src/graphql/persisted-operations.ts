import { usePersistedOperations } from "@graphql-yoga/plugin-persisted-operations";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { GraphQLError, parse, validate } from "graphql";
import type { Plugin } from "graphql-yoga";
import { type Config, InvalidConfigError } from "../config.ts";
import { badInput } from "./client-error.ts";
import { schema } from "./schema.ts";

/** Documents that an operator has registered, by the SHA-256 of their text in lower-case hex. */
export type PersistedOperations = ReadonlyMap<string, string>;

/** More than the largest screen asks for by far, and few enough to check in no time. */
export const MAX_TOKENS = 2_000;

const SEND = 'send {"extensions":{"persistedQuery":{"version":1,"sha256Hash":"…"}}} and your variables';

/**
 * Lets clients name a registered document instead of sending it, and where the operator wants it nothing but that; none
 * where it is off. Throws InvalidConfigError that names every document that is wrong.
 */
export function persistedOperations(config: Config): Plugin[] {
  const { persistedOperations: mode, persistedOperationsFile: file } = config;
  if (mode === "off" || file === undefined) return [];
  const registered = readRegistered(file);
  return [
    usePersistedOperations({
      getPersistedOperation: (hash) => registered.get(hash.toLowerCase()) ?? null,
      allowArbitraryOperations: mode === "allow",
      customErrors: {
        persistedQueryOnly: () => badInput(`Only registered operations are taken here: ${SEND}.`),
        notFound: () => badInput("No operation is registered under this hash: register it first, or check the hash."),
        keyNotFound: () =>
          badInput(mode === "only" ? `Name a registered operation: ${SEND}.` : `Send a query, or ${SEND}.`),
      },
    }),
  ];
}

/** The name that a document is registered under. */
export function hashOf(document: string): string {
  return createHash("sha256").update(document).digest("hex");
}

/** What keeps a document from being registered, in words; nothing when it fits the schema. */
export function faultsOf(document: string): string[] {
  try {
    return validate(schema, parse(document, { maxTokens: MAX_TOKENS })).map(({ message }) => message);
  } catch (error) {
    if (error instanceof GraphQLError) return [error.message];
    throw error;
  }
}

function readRegistered(file: string): PersistedOperations {
  const entries = Object.entries(jsonOf(file));
  const problems = entries.flatMap(([hash, document]) => problemsOf(hash, document));
  if (entries.length === 0) problems.push("it names no operation");
  if (problems.length > 0) {
    throw new InvalidConfigError(problems.map((problem) => `PERSISTED_OPERATIONS_FILE ${file}: ${problem}`));
  }
  return new Map(entries as [string, string][]);
}

function jsonOf(file: string): object {
  try {
    const json: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (typeof json === "object" && json !== null && !Array.isArray(json)) return json;
  } catch (error) {
    throw new InvalidConfigError([`PERSISTED_OPERATIONS_FILE ${file} cannot be read: ${(error as Error).message}`]);
  }
  throw new InvalidConfigError([`PERSISTED_OPERATIONS_FILE ${file} holds one JSON object: hashes and their documents`]);
}

function problemsOf(hash: string, document: unknown): string[] {
  if (typeof document !== "string") return [`${hash} has no document`];
  if (hashOf(document) !== hash) return [`${hash} is not the SHA-256 of its document, ${hashOf(document)}`];
  return faultsOf(document).map((fault) => `${hash} does not fit the schema: ${fault}`);
}
