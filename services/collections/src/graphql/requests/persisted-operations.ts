import { usePersistedOperations } from "@graphql-yoga/plugin-persisted-operations";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { GraphQLError, validate } from "graphql";
import type { GraphQLParams, Plugin } from "graphql-yoga";
import { type Config, InvalidConfigError } from "../../settings/config.ts";
import { badInput, ClientError } from "../plumbing/client-error.ts";
import { parseWithinLimits } from "./document-limits.ts";
import { schema } from "../schema.ts";

/** GraphQL documents that an operator has registered, by the SHA-256 of their text in lower-case hex. */
export type PersistedOperations = ReadonlyMap<string, string>;

const SEND =
  'send {"documentId":"sha256:…"}, or {"extensions":{"persistedQuery":{"version":1,"sha256Hash":"…"}}}, and your variables';
/** The prefix that graphql-codegen and the specification of GraphQL over HTTP put before a SHA-256. */
const PREFIX = "sha256:";
/** An MD5 or SHA-1, with which Relay and graphql-codegen name documents unless they are configured otherwise. */
const OTHER_HASH = /^(?:(?:md5|sha1):)?(?:[0-9a-f]{32}|[0-9a-f]{40})$/i;
const APOLLO_FORMAT = "apollo-persisted-query-manifest";

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
 * document. Without `registered`, answers an automatic persisted query so that the client sends the text.
 */
export function persistedOperations(
  mode: Config["persistedOperations"],
  registered: PersistedOperations | undefined,
): Plugin {
  if (!registered) {
    return {
      onParams({ params }) {
        if (!params.query && isAutomatic(params)) throw notRegistered(params, mode);
      },
    };
  }
  return usePersistedOperations({
    getPersistedOperation: (hash) => registered.get(hash) ?? null,
    extractPersistedOperationId: (params) => hashIn(params) ?? null,
    allowArbitraryOperations: mode === "allow",
    customErrors: {
      persistedQueryOnly: () => badInput(`Only registered operations are accepted here: ${SEND}.`),
      notFound: ({ params }) => notRegistered(params, mode),
      keyNotFound: () =>
        badInput(mode === "only" ? `Name a registered operation: ${SEND}.` : `Send a query, or ${SEND}.`),
    },
  });
}

/**
 * Returns the hash by which a request names a registered GraphQL document; undefined if the request has no hash. The
 * hash is `documentId`, with or without `sha256:`, or `extensions.persistedQuery.sha256Hash`.
 */
export function hashIn(params: GraphQLParams): string | undefined {
  const { documentId } = params as { documentId?: unknown };
  if (typeof documentId === "string") return withoutPrefix(documentId);
  const named = params.extensions?.["persistedQuery"] as { version?: unknown; sha256Hash?: unknown } | null | undefined;
  return named?.version === 1 && typeof named.sha256Hash === "string" ? withoutPrefix(named.sha256Hash) : undefined;
}

/**
 * Returns the error for a hash that no registered GraphQL document has. The clients of Apollo, urql and others that
 * first send only a hash know two messages, after which they send the text. With `only` the text would be refused too,
 * so the answer says what to do.
 */
export function notRegistered(params: GraphQLParams, mode: Config["persistedOperations"]): ClientError {
  if (mode === "only" || !isAutomatic(params)) {
    return badInput("No operation is registered under this hash: register it first, or check the hash.");
  }
  const message = mode === "off" ? "PersistedQueryNotSupported" : "PersistedQueryNotFound";
  // Some of these clients read the message only in an answer with the status 200.
  return new ClientError("BAD_INPUT", message, { status: 200 });
}

/** Tells whether a request has the hash of an automatic persisted query. */
export function isAutomatic(params: GraphQLParams): boolean {
  return typeof (params as { documentId?: unknown }).documentId !== "string" && hashIn(params) !== undefined;
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
  const entries = entriesOf(jsonOf(file), file);
  const problems = entries.flatMap(([id, document]) => problemsOf(id, document));
  if (entries.length === 0) problems.push("the file has no operations");
  if (problems.length > 0) {
    throw new InvalidConfigError(problems.map((problem) => `PERSISTED_OPERATIONS_FILE ${file}: ${problem}`));
  }
  return new Map(entries.map(([id, document]) => [withoutPrefix(id), document as string]));
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

/**
 * Returns the ids of a manifest with their documents. graphql-codegen, Relay and `persisted-operations make` write one
 * object that maps ids to documents. Apollo writes a list of operations, each with `id` and `body`.
 */
function entriesOf(manifest: object, file: string): [id: string, document: unknown][] {
  if (!("format" in manifest)) return Object.entries(manifest);
  const { format, version, operations } = manifest as { format: unknown; version?: unknown; operations?: unknown };
  if (format !== APOLLO_FORMAT || version !== 1 || !Array.isArray(operations)) {
    throw new InvalidConfigError([
      `PERSISTED_OPERATIONS_FILE ${file}: a manifest with "format" must have "format":"${APOLLO_FORMAT}", "version":1 ` +
        `and a list of "operations", but has format ${JSON.stringify(format)} and version ${JSON.stringify(version)}`,
    ]);
  }
  return operations.map((operation: { id?: unknown; body?: unknown } | null, index) => [
    typeof operation?.id === "string" ? operation.id : `operations[${index}].id`,
    operation?.body,
  ]);
}

function problemsOf(id: string, document: unknown): string[] {
  if (typeof document !== "string") return [`${id} has no document`];
  const hash = hashOf(document);
  if (withoutPrefix(id) !== hash) {
    const hint = OTHER_HASH.test(id) ? ": set the hash algorithm of your generator to SHA-256" : "";
    return [`${id} is not the SHA-256 of its document, ${hash}${hint}`];
  }
  return faultsOf(document).map((fault) => `${id} does not fit the schema: ${fault}`);
}

function withoutPrefix(id: string): string {
  const lowerCase = id.toLowerCase();
  return lowerCase.startsWith(PREFIX) ? lowerCase.slice(PREFIX.length) : lowerCase;
}
