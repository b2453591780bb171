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
 * The most that one operation may select: fields, multiplied by the sizes of the lists around them, and levels of
 * nesting.
 */
const MAX_COMPLEXITY = 1_000;
const MAX_DEPTH = 10;

/** A mutation makes a transaction and an event for the lender, so an operation has at most nine. */
const MUTATION_COMPLEXITY = 100;

/** An object may need a query. A value of a loaded object costs almost nothing. */
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
          : `An operation may cost ${MAX_COMPLEXITY}; this one costs ${Math.ceil(complexity)}: ask for less at a time.`,
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
    idFieldOptions: { description: "Opaque and the same for good." },
    nodeTypeOptions: { description: "Whatever has an id of its own, to be asked for by `node`." },
    nodeQueryOptions: {
      description: "Whatever has this id; null when there is no such thing, or when it is somebody else's.",
      args: { id: { description: "What a field named `id` answered with." } },
    },
    nodesQueryOptions: {
      description: "Many at once, in the order of the ids: null where there is no such thing for you.",
      args: { ids: { description: "What fields named `id` answered with." } },
      complexity: ({ ids }) => ({ field: OBJECT_COMPLEXITY, multiplier: ids.length }),
    },
    pageInfoTypeOptions: { description: "Where a page stands in its list." },
    hasNextPageFieldOptions: { description: "Whether there is more behind `endCursor`." },
    hasPreviousPageFieldOptions: { description: "Whether there is something before this page." },
    startCursorFieldOptions: { description: "Cursor of the page's first item; null when it is empty." },
    endCursorFieldOptions: { description: "Cursor of the page's last item: the `after` of the next page." },
    pageInfoFieldOptions: { description: "Where this page stands in the list." },
    edgesFieldOptions: { description: "The items of the page, each with its cursor.", complexity: { multiplier: 1 } },
    nodeFieldOptions: { description: "The item." },
    cursorFieldOptions: { description: "Where the item stands in the list; opaque." },
  },
});

const signedIn = { authScopes: { signedIn: true } };

builder.queryType({
  description: "What a signed-in field partner may read: their own, and nobody else's.",
  ...signedIn,
});
builder.mutationType({
  description: "What a field partner does. Each works once per `idempotencyKey`: repeat it until it is answered.",
  ...signedIn,
});
builder.subscriptionType({ description: "What a field partner may watch, as server-sent events.", ...signedIn });
