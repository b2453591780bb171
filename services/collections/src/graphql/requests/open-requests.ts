import { GraphQLObjectType } from "graphql";
import type { GraphQLParams } from "graphql-yoga";
import { ClientError } from "../plumbing/client-error.ts";
import { DOCUMENT_LIMITS } from "./document-limits.ts";
import { type DocumentOutline, outlineOf } from "./document-outline.ts";
import { hashIn, isAutomatic, notRegistered, type PersistedOperations } from "./persisted-operations.ts";
import { paramsOf } from "./request-body.ts";
import type { Config } from "../../settings/config.ts";
import { schema } from "../schema.ts";

/** The limits of a GraphQL document in a request without an access token. */
const MAX_CHARACTERS = 4_096;
const MAX_SELECTIONS = 50;
/** The limit for introspection, which is enough for the introspection query of graphql-js with its 75 selections. */
const MAX_INTROSPECTION_SELECTIONS = 200;

/** Root fields that need no access token, such as `Mutation.requestOtp`. They skip the authorization of their type. */
export const OPEN_FIELDS: ReadonlySet<string> = new Set(
  Object.values(schema.getTypeMap()).flatMap((type) => (type instanceof GraphQLObjectType ? openFieldsOf(type) : [])),
);
const OPEN_NAMES = [...OPEN_FIELDS].map((field) => field.slice(field.indexOf(".") + 1));
const INTROSPECTION_FIELDS: ReadonlySet<string> = new Set(["Query.__schema", "Query.__type", "Query.__typename"]);
const INTROSPECTION_NAMES = ["__schema", "__type"];
/** The names of the properties with which a request has a hash instead of a document. */
const HASH_NAMES = ["documentId", "persistedQuery"];

export interface OpenRequestRules {
  /** PERSISTED_OPERATIONS */
  readonly mode: Config["persistedOperations"];
  /** Whether introspection of the schema is allowed. */
  readonly sandbox: boolean;
  /** The registered operations; undefined if PERSISTED_OPERATIONS is off. */
  readonly registered: PersistedOperations | undefined;
}

/**
 * Returns a function that checks requests without a valid access token. The function takes a body, and returns the
 * parameters of a request that needs no token: one that signs in, renews a session or, in a sandbox, reads the schema.
 * For any other request it throws ClientError UNAUTHENTICATED, or GraphQLError BAD_INPUT for a body that cannot be
 * read.
 *
 * The check is cheap for every input. It searches the bytes for the names of fields that need no token before it parses
 * the JSON, and it reads the tokens of a short document without parsing it. The check only saves work: resolvers
 * authorize each field.
 */
export function openRequests({ sandbox, mode, registered }: OpenRequestRules): (body: Buffer) => GraphQLParams {
  const openHashes = new Set([...(registered ?? [])].filter(([, document]) => signsIn(document)).map(([hash]) => hash));
  const names = [...OPEN_NAMES, ...(sandbox ? INTROSPECTION_NAMES : []), ...HASH_NAMES];

  function isOpenHash(params: GraphQLParams): boolean {
    const hash = hashIn(params);
    if (hash === undefined || (!registered && !isAutomatic(params))) return false;
    if (!registered?.has(hash)) throw notRegistered(params, mode);
    return openHashes.has(hash);
  }

  return (body) => {
    // Search the bytes, which is cheaper than parsing them. JSON could spell the names of the fields with escapes, but
    // no encoder escapes ASCII letters.
    if (!names.some((name) => body.includes(name))) throw unauthenticated();
    const params = paramsOf(body);
    const isAllowed = params.query ? isOpenDocument(params.query, sandbox) : isOpenHash(params);
    if (!isAllowed) throw unauthenticated();
    return params;
  };
}

/** Returns the error for a request that needs a valid access token and has none. */
export function unauthenticated(): ClientError {
  return new ClientError(
    "UNAUTHENTICATED",
    `Send Authorization: Bearer <accessToken>. Only ${OPEN_NAMES.join(", ")} need no token, in a document of at most ` +
      `${MAX_CHARACTERS} characters and ${MAX_SELECTIONS} selections.`,
  );
}

function isOpenDocument(document: unknown, sandbox: boolean): boolean {
  if (typeof document !== "string" || document.length > MAX_CHARACTERS) return false;
  const outline = outlineOf(document, { ...DOCUMENT_LIMITS, selections: MAX_INTROSPECTION_SELECTIONS });
  if (!outline || outline.exceeded) return false;
  if (selectsOnly(outline, OPEN_FIELDS)) return outline.selections <= MAX_SELECTIONS;
  return sandbox && selectsOnly(outline, INTROSPECTION_FIELDS);
}

/**
 * Whether a registered GraphQL document selects only root fields that need no access token. Registered documents are
 * always within DOCUMENT_LIMITS.
 */
function signsIn(document: string): boolean {
  const outline = outlineOf(document, DOCUMENT_LIMITS);
  return outline !== undefined && selectsOnly(outline, OPEN_FIELDS);
}

/**
 * Whether a GraphQL document selects at least one of the `allowed` root fields, and no other root field but
 * `__typename`.
 */
function selectsOnly({ rootFields }: DocumentOutline, allowed: ReadonlySet<string>): boolean {
  const fields = [...rootFields];
  return fields.some((field) => allowed.has(field)) && fields.every((field) => allowed.has(field) || isTypename(field));
}

function isTypename(field: string): boolean {
  return field.endsWith(".__typename");
}

function openFieldsOf(type: GraphQLObjectType): string[] {
  const skipsScopes = (extensions: { pothosOptions?: { skipTypeScopes?: boolean } }) =>
    extensions.pothosOptions?.skipTypeScopes === true;
  const fields = Object.values(type.getFields()).filter(({ extensions }) => skipsScopes(extensions));
  return fields.map(({ name }) => `${type.name}.${name}`);
}
