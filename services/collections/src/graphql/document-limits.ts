import type { Plugin } from "graphql-yoga";
import { ClientError } from "./client-error.ts";
import { type OutlineLimits, outlineOf } from "./document-outline.ts";

/** Several times what the largest screen of an app needs. Validation takes milliseconds within these limits. */
export const DOCUMENT_LIMITS: OutlineLimits & { readonly characters: number } = {
  characters: 65_536,
  tokens: 2_000,
  // graphql-js compares selections in pairs.
  selections: 400,
  // graphql-js compares fragments in pairs, recursively: a circle of 100 overflows its stack.
  fragments: 50,
};

const NAMES = {
  characters: "characters",
  selections: "fields and fragments selected",
  fragments: "fragments defined",
};

/** Refuses a document that is too large before graphql-js parses and validates it. A cached document is not read again. */
export function limitDocuments(): Plugin {
  return {
    onParse({ parseFn, setParseFn }) {
      setParseFn((source, options: object | undefined) => {
        refuseTooLarge(typeof source === "string" ? source : source.body);
        return parseFn(source, { ...options, maxTokens: DOCUMENT_LIMITS.tokens });
      });
    },
  };
}

/** @throws ClientError TOO_COMPLEX */
export function refuseTooLarge(document: string): void {
  if (document.length > DOCUMENT_LIMITS.characters) throw tooLarge("characters");
  const exceeded = outlineOf(document, DOCUMENT_LIMITS)?.exceeded;
  // The parser stops at the same number of tokens and says so.
  if (exceeded !== undefined && exceeded !== "tokens") throw tooLarge(exceeded);
}

function tooLarge(limit: keyof typeof NAMES): ClientError {
  const message = `A document may have ${DOCUMENT_LIMITS[limit]} ${NAMES[limit]}; this one has more: ask for less at a time.`;
  return new ClientError("TOO_COMPLEX", message);
}
