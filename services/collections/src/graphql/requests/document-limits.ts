import { type DocumentNode, parse, type ParseOptions, type Source } from "graphql";
import type { Plugin } from "graphql-yoga";
import { badInput, ClientError } from "../plumbing/client-error.ts";
import { type OutlineLimits, outlineOf } from "./document-outline.ts";

/**
 * The limits of a GraphQL document. Each is several times what the largest screen of the app needs. Within these
 * limits, validation takes milliseconds.
 */
export const DOCUMENT_LIMITS: OutlineLimits & { readonly characters: number } = {
  characters: 65_536,
  tokens: 2_000,
  // To validate a document, graphql-js compares its selections in pairs, which takes quadratic time.
  selections: 400,
  // graphql-js compares fragments in pairs, recursively: 100 fragments in a circle overflow its stack.
  fragments: 50,
};

const NAMES = {
  characters: "characters",
  selections: "fields and fragments selected",
  fragments: "fragments defined",
};

/** Makes the server parse GraphQL documents with `parseWithinLimits`. A cached document is not parsed again. */
export function limitDocuments(): Plugin {
  return {
    onParse({ setParseFn }) {
      setParseFn(parseWithinLimits);
    },
  };
}

/**
 * Parses a GraphQL document of operations and fragments. Every returned document is within the limits, so validating it
 * is safe.
 * @throws ClientError TOO_COMPLEX before parsing, BAD_INPUT for definitions of types; GraphQLError for a syntax error
 */
export function parseWithinLimits(source: string | Source, options?: ParseOptions): DocumentNode {
  const text = typeof source === "string" ? source : source.body;
  if (text.length > DOCUMENT_LIMITS.characters) throw tooLarge("characters");
  const outline = outlineOf(text, DOCUMENT_LIMITS);
  // Leave a document with too many tokens to `parse`, which has the same limit and throws its own error.
  if (outline?.exceeded !== undefined && outline.exceeded !== "tokens") throw tooLarge(outline.exceeded);
  const document = parse(source, { ...options, maxTokens: DOCUMENT_LIMITS.tokens });
  if (!outline) throw badInput("A document may define operations and fragments only, no types or directives.");
  return document;
}

function tooLarge(limit: keyof typeof NAMES): ClientError {
  const message = `A document may have ${DOCUMENT_LIMITS[limit]} ${NAMES[limit]}; this one has more: ask for less at a time.`;
  return new ClientError("TOO_COMPLEX", message);
}
