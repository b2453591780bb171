import { usePersistedOperations } from "@graphql-yoga/plugin-persisted-operations";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { GraphQLError, validate } from "graphql";
import type { GraphQLParams, Plugin } from "graphql-yoga";
import { type Config, InvalidConfigError } from "../../settings/config.ts";
import { badInput, type ClientError } from "../plumbing/client-error.ts";
import { parseWithinLimits } from "./document-limits.ts";
import { schema } from "../schema.ts";

/** GraphQL documents that an operator has registered, by the SHA-256 of their text in lower-case hex. */
export type PersistedOperations = ReadonlyMap<string, string>;

const SEND = 'send {"extensions":{"persistedQuery":{"version":1,"sha256Hash":"…"}}} and your variables';

/**
 * Returns the registered GraphQL documents; undefined if PERSISTED_OPERATIONS is off. Throws InvalidConfigError, which
 * names every fault.
 */
export function registeredOperations(config: Config): PersistedOperations | undefined {
  const { persistedOperations: mode, persistedOperationsFile: file } = config;
  return mode === "off" || file === undefined ? undefined : readRegistered(file);
}

/**
 * Lets clients send the hash of a registered GraphQL document instead of its text. With `only`, refuses every other
 * document.
 */
export function persistedOperations(mode: Config["persistedOperations"], registered: PersistedOperations): Plugin {
  return usePersistedOperations({
    getPersistedOperation: (hash) => registered.get(hash) ?? null,
    extractPersistedOperationId: (params) => hashIn(params) ?? null,
    allowArbitraryOperations: mode === "allow",
    customErrors: {
      persistedQueryOnly: () => badInput(`Only registered operations are accepted here: ${SEND}.`),
      notFound: notRegistered,
      keyNotFound: () =>
        badInput(mode === "only" ? `Name a registered operation: ${SEND}.` : `Send a query, or ${SEND}.`),
    },
  });
}

/** Returns the hash by which a request names a registered GraphQL document; undefined if the request has no hash. */
export function hashIn({ extensions }: GraphQLParams): string | undefined {
  const named = extensions?.["persistedQuery"] as { version?: unknown; sha256Hash?: unknown } | null | undefined;
  return named?.version === 1 && typeof named.sha256Hash === "string" ? named.sha256Hash.toLowerCase() : undefined;
}

/** Returns the error for a hash that no registered GraphQL document has. */
export function notRegistered(): ClientError {
  return badInput("No operation is registered under this hash: register it first, or check the hash.");
}

/** Returns the hash under which a GraphQL document is registered. */
export function hashOf(document: string): string {
  return createHash("sha256").update(document).digest("hex");
}

/**
 * Returns the reasons why a GraphQL document cannot be registered, as sentences; empty if it is valid for the schema.
 */
export function faultsOf(document: string): string[] {
  try {
    return validate(schema, parseWithinLimits(document)).map(({ message }) => message);
  } catch (error) {
    if (error instanceof GraphQLError) return [error.message];
    throw error;
  }
}

function readRegistered(file: string): PersistedOperations {
  const entries = Object.entries(jsonOf(file));
  const problems = entries.flatMap(([hash, document]) => problemsOf(hash, document));
  if (entries.length === 0) problems.push("the file has no operations");
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
  throw new InvalidConfigError([
    `PERSISTED_OPERATIONS_FILE ${file} must contain one JSON object that maps hashes to documents`,
  ]);
}

function problemsOf(hash: string, document: unknown): string[] {
  if (typeof document !== "string") return [`${hash} has no document`];
  if (hashOf(document) !== hash) return [`${hash} is not the SHA-256 of its document, ${hashOf(document)}`];
  return faultsOf(document).map((fault) => `${hash} does not fit the schema: ${fault}`);
}
