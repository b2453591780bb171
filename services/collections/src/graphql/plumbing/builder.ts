import SchemaBuilder from "@pothos/core";
import ComplexityPlugin, { ComplexityErrorKind } from "@pothos/plugin-complexity";
import ErrorsPlugin from "@pothos/plugin-errors";
import RelayPlugin from "@pothos/plugin-relay";
import ScopeAuthPlugin from "@pothos/plugin-scope-auth";
import type { CurrencyCode } from "@collections/money";
import { getNamedType, isLeafType } from "graphql";
import { ClientError } from "./client-error.ts";
import type { Context } from "./context.ts";
import { decodeId, encodeId } from "./global-id.ts";

/**
 * Limits of one operation. Its complexity is the sum of its fields, each multiplied by the sizes of the lists around
 * it. Its depth is the number of nested levels.
 */
const MAX_COMPLEXITY = 1_000;
const MAX_DEPTH = 10;

/**
 * The complexity of a mutation, which takes a transaction and an event for the lender. At this value, an operation has
 * at most nine mutations.
 */
const MUTATION_COMPLEXITY = 100;

/**
 * The complexity of a field that returns an object, for which a query may be needed. A plain value of a loaded object
 * needs no query, so its complexity is lower.
 */
const OBJECT_COMPLEXITY = 1;
const VALUE_COMPLEXITY = 0.1;

/** The builder of all types of the app's API. Each type is in the file with its name. */
export const builder = new SchemaBuilder<{
  Context: Context;
  DefaultFieldNullability: false;
  AuthScopes: { signedIn: boolean };
  Scalars: {
    ID: { Input: string; Output: string };
    CurrencyCode: { Input: CurrencyCode; Output: string };
    Date: { Input: string; Output: string };
    DateTime: { Input: Date; Output: Date };
    URL: { Input: string; Output: string };
    UUID: { Input: string; Output: string };
  };
}>({
  plugins: [ScopeAuthPlugin, ComplexityPlugin, ErrorsPlugin, RelayPlugin],
  defaultFieldNullability: false,
  scopeAuth: {
    authScopes: ({ fieldPartner }) => ({ signedIn: fieldPartner !== undefined }),
    authorizeOnSubscribe: true,
    unauthorizedError: () => new ClientError("UNAUTHENTICATED", "Send Authorization: Bearer <accessToken>."),
  },
  complexity: {
    limit: { complexity: MAX_COMPLEXITY, depth: MAX_DEPTH },
    fieldComplexity: (_args, _context, { type, parentType }) => {
      if (parentType?.name === "Mutation") return MUTATION_COMPLEXITY;
      return isLeafType(getNamedType(type)) ? VALUE_COMPLEXITY : OBJECT_COMPLEXITY;
    },
    complexityError: (kind, { complexity, depth }) =>
      new ClientError(
        "TOO_COMPLEX",
        kind === ComplexityErrorKind.Depth
          ? `An operation may be ${MAX_DEPTH} levels deep; this one has ${depth}.`
          : `An operation may have a complexity of ${MAX_COMPLEXITY}; this one has ${Math.ceil(complexity)}: ask for less at a time.`,
      ),
  },
  errors: {
    directResult: true,
    defaultUnionOptions: {
      name: ({ fieldName }) => `${fieldName[0]?.toUpperCase()}${fieldName.slice(1)}Result`,
    },
  },
  relay: {
    clientMutationId: "omit",
    cursorType: "String",
    encodeGlobalID: encodeId,
    decodeGlobalID: decodeId,
    idFieldOptions: { description: "An opaque id that never changes." },
    nodeTypeOptions: { description: "An object that `node` can return for its id." },
    nodeQueryOptions: {
      description: "The object with this id; null if there is none, or if it belongs to another field partner.",
      args: { id: { description: "The value of an `id` field." } },
    },
    nodesQueryOptions: {
      description:
        "The objects with these ids, in the same order; null for an id that has no object, or an object of " +
        "another field partner.",
      args: { ids: { description: "The values of `id` fields." } },
      complexity: ({ ids }) => ({ field: OBJECT_COMPLEXITY, multiplier: ids.length }),
    },
    pageInfoTypeOptions: { description: "The cursors of a page, and whether there are more pages." },
    hasNextPageFieldOptions: { description: "Whether there are items after `endCursor`." },
    hasPreviousPageFieldOptions: { description: "Whether there are items before this page." },
    startCursorFieldOptions: { description: "The cursor of the page's first item; null if the page is empty." },
    endCursorFieldOptions: {
      description: "The cursor of the page's last item. Send it as `after` to get the next page.",
    },
    pageInfoFieldOptions: { description: "The cursors of the page, and whether there are more pages." },
    edgesFieldOptions: { description: "The items of the page, each with its cursor.", complexity: { multiplier: 1 } },
    nodeFieldOptions: { description: "The item." },
    cursorFieldOptions: { description: "The opaque position of the item in the list." },
  },
});

const signedIn = { authScopes: { signedIn: true } };

builder.queryType({
  description: "The data that a signed-in field partner may read. Each field partner sees only their own data.",
  ...signedIn,
});
builder.mutationType({
  description:
    "The actions of a field partner. Each takes effect once per `idempotencyKey`: repeat the request until " +
    "you get an answer.",
  ...signedIn,
});
builder.subscriptionType({
  description: "The objects whose changes a field partner can watch, as server-sent events.",
  ...signedIn,
});
