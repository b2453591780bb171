import { GraphQLError, Lexer, Source, type Token, TokenKind } from "graphql";

/** The size of a GraphQL document and the root fields that it selects, read from its tokens without parsing it. */
export interface DocumentOutline {
  /** The number of fields, fragment spreads and inline fragments, in all operations and fragments together. */
  readonly selections: number;
  /** The number of fragment definitions. */
  readonly fragments: number;
  /** Fields of operations and of fragments on root types, without their aliases: `Mutation.requestOtp`. */
  readonly rootFields: ReadonlySet<string>;
  /**
   * The limit that the document exceeds, at which the reading stopped; undefined if it exceeds none. The outline does
   * not cover the rest of the document.
   */
  readonly exceeded: keyof OutlineLimits | undefined;
}

export interface OutlineLimits {
  readonly tokens: number;
  readonly selections: number;
  readonly fragments: number;
}

const ROOT_TYPES: ReadonlyMap<string, string> = new Map([
  ["query", "Query"],
  ["mutation", "Mutation"],
  ["subscription", "Subscription"],
]);
const ROOT_TYPE_NAMES: ReadonlySet<string> = new Set(ROOT_TYPES.values());

/**
 * Reads the tokens of a GraphQL document once, in linear time and without recursion. The tokens come from the lexer of
 * graphql-js, so the parser sees the same tokens.
 *
 * Returns exact counts and all root fields of a document of operations and fragments that graphql-js can parse, unless
 * the document exceeds a limit. Returns undefined for a document that defines or extends a type or a directive, and for
 * most documents that graphql-js cannot parse.
 */
export function outlineOf(document: string, limits: OutlineLimits): DocumentOutline | undefined {
  const reader = new OutlineReader(document, limits);
  try {
    return reader.read() ? reader.outline : undefined;
  } catch (error) {
    // The lexer found a character that begins no token.
    if (error instanceof GraphQLError) return undefined;
    throw error;
  }
}

/**
 * Computes the outline of a GraphQL document. Its `read…` and `skip…` methods return false at a token that cannot
 * belong to an operation or a fragment.
 */
class OutlineReader {
  readonly #lexer: Lexer;
  readonly #limits: OutlineLimits;
  readonly #rootFields = new Set<string>();
  #tokens = 0;
  #selections = 0;
  #fragments = 0;

  constructor(document: string, limits: OutlineLimits) {
    this.#lexer = new Lexer(new Source(document));
    this.#limits = limits;
  }

  get outline(): DocumentOutline {
    const [selections, fragments] = [this.#selections, this.#fragments];
    return { selections, fragments, rootFields: this.#rootFields, exceeded: this.#exceeded };
  }

  read(): boolean {
    for (let token = this.#next(); token.kind !== TokenKind.EOF; token = this.#next()) {
      if (!this.#readDefinition(token)) return this.#exceeded !== undefined;
    }
    return true;
  }

  get #exceeded(): keyof OutlineLimits | undefined {
    if (this.#tokens > this.#limits.tokens) return "tokens";
    if (this.#selections > this.#limits.selections) return "selections";
    return this.#fragments > this.#limits.fragments ? "fragments" : undefined;
  }

  #readDefinition({ kind, value }: Token): boolean {
    if (kind === TokenKind.BRACE_L) return this.#readSelections("Query");
    // Ignore a string between definitions: it is the description of the definition that follows.
    if (kind === TokenKind.STRING || kind === TokenKind.BLOCK_STRING) return true;
    if (kind !== TokenKind.NAME) return false;
    if (value === "fragment") return this.#readFragment();
    const rootType = ROOT_TYPES.get(value);
    return rootType !== undefined && this.#skipToBrace() && this.#readSelections(rootType);
  }

  #readFragment(): boolean {
    this.#fragments += 1;
    const [, on, type] = [this.#next(), this.#next(), this.#next()];
    if (on.value !== "on") return false;
    return this.#skipToBrace() && this.#readSelections(ROOT_TYPE_NAMES.has(type.value) ? type.value : undefined);
  }

  /**
   * Skips names, variables and directives up to the brace that opens a selection set. A brace within parentheses
   * belongs to a value, so it does not count.
   */
  #skipToBrace(): boolean {
    for (;;) {
      const { kind } = this.#next();
      if (kind === TokenKind.BRACE_L) return true;
      const isSkipped = kind === TokenKind.PAREN_L ? this.#skipParentheses() : isNameOrAt(kind);
      if (!isSkipped || this.#exceeded) return false;
    }
  }

  /**
   * Reads a selection set, whose opening brace has already been read, up to its closing brace. Records the fields of
   * `rootType`, if given.
   */
  #readSelections(rootType: string | undefined): boolean {
    // One entry for each open brace: whether the fields within this brace are fields of the root type.
    const open = [rootType !== undefined];
    let isInlineFragmentOfRoot = false;
    while (open.length > 0) {
      const token = this.#next();
      if (this.#exceeded) return false;
      switch (token.kind) {
        case TokenKind.NAME: {
          const field = this.#fieldName(token);
          if (open.at(-1)) this.#rootFields.add(`${rootType}.${field}`);
          isInlineFragmentOfRoot = false;
          break;
        }
        case TokenKind.SPREAD:
          // The fields of an inline fragment at the root count as root fields, whatever the fragment's type condition is.
          isInlineFragmentOfRoot = open.at(-1) === true;
          this.#readSpread();
          break;
        case TokenKind.BRACE_L:
          open.push(isInlineFragmentOfRoot);
          isInlineFragmentOfRoot = false;
          break;
        case TokenKind.BRACE_R:
          open.pop();
          isInlineFragmentOfRoot = false;
          break;
        case TokenKind.AT:
          this.#next();
          break;
        case TokenKind.PAREN_L:
          if (!this.#skipParentheses()) return false;
          break;
        default:
          return false;
      }
    }
    return true;
  }

  /** Returns the name of a field. `first` is the field's name, or an alias that precedes the name. */
  #fieldName(first: Token): string {
    this.#selections += 1;
    if (this.#lexer.lookahead().kind !== TokenKind.COLON) return first.value;
    this.#next();
    return this.#next().value;
  }

  /**
   * Reads the tokens after three dots: a fragment's name, a type condition, or no token for a plain inline fragment.
   */
  #readSpread(): void {
    this.#selections += 1;
    if (this.#lexer.lookahead().kind !== TokenKind.NAME) return;
    if (this.#next().value === "on") this.#next();
  }

  #skipParentheses(): boolean {
    for (let open = 1; open > 0;) {
      const { kind } = this.#next();
      if (kind === TokenKind.EOF || this.#exceeded) return false;
      if (kind === TokenKind.PAREN_L) open += 1;
      if (kind === TokenKind.PAREN_R) open -= 1;
    }
    return true;
  }

  #next(): Token {
    this.#tokens += 1;
    return this.#lexer.advance();
  }
}

function isNameOrAt(kind: TokenKind): boolean {
  return kind === TokenKind.NAME || kind === TokenKind.AT;
}
