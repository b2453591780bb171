import { badInput } from "./client-error.ts";
import { builder } from "./builder.ts";

const MAX_PAGE = 100;
const DEFAULT_PAGE = 20;

/** The arguments of every list. */
export const pageArgs = builder.args((t) => ({
  first: t.int({
    defaultValue: DEFAULT_PAGE,
    description: `The maximum number of items in the page, up to ${MAX_PAGE}.`,
  }),
  after: t.string({ description: "The `endCursor` of the previous page." }),
}));

interface PageArgs {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
}

/** Returns the complexity of a list: the complexity of one item, times the size of the page. */
export function pageComplexity({ first }: PageArgs): { field: number; multiplier: number } {
  return { field: 1, multiplier: first ?? DEFAULT_PAGE };
}

/** Returns the complexity of a list at the root. Its query costs as much as several items, even for a page of one. */
export function rootPageComplexity(args: PageArgs): { field: number; multiplier: number } {
  return { ...pageComplexity(args), field: 10 };
}

/** Returns the requested page. Throws BAD_INPUT if `first` is out of range. */
export function pageOf({ first, after }: PageArgs): { first: number; after?: string } {
  const size = first ?? DEFAULT_PAGE;
  if (size < 1 || size > MAX_PAGE) throw badInput(`\`first\` must be from 1 to ${MAX_PAGE}; got ${size}.`);
  return { first: size, ...(typeof after === "string" && { after }) };
}

/** Converts a page to the form of a Relay connection. */
export function connectionOf<Node>(
  edges: readonly { readonly cursor: string; readonly node: Node }[],
  { hasNextPage, after }: { hasNextPage: boolean; after: string | undefined },
) {
  return {
    edges: [...edges],
    pageInfo: {
      hasNextPage,
      hasPreviousPage: after !== undefined,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  };
}

/** Reads a page. Throws BAD_INPUT for a cursor that does not belong to this list. */
export async function readPage<Page>(read: () => Promise<Page>): Promise<Page> {
  try {
    return await read();
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === "INVALID_CURSOR") throw badInput("`after` is not a cursor of this list; start again without it.");
    if (code !== "CURSOR_OF_ANOTHER_LIST") throw error;
    throw badInput("`after` is a cursor of another sort, filter, search or place; start again without it.");
  }
}
