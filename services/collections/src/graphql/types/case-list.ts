import { casesOfFieldPartner, countCasesOfFieldPartner, lenderIdsOfFieldPartner } from "@collections/cases";
import { dayIn } from "@collections/local-time";
import type { Lender } from "@collections/lenders";
import { builder } from "../plumbing/builder.ts";
import { CaseRef } from "./case.ts";
import { type CountedCases, FacetsRef, total } from "./case-facets.ts";
import { CaseFilterInput, CaseSortRef, filterOf, NearInput, nearOf, searchOf } from "./case-list-input.ts";
import { badInput } from "../plumbing/client-error.ts";
import { connectionOf, pageArgs, pageOf, readPage, rootPageComplexity } from "../plumbing/connection.ts";
import { type Context, viewer } from "../plumbing/context.ts";

/** The cost of counting: like the page itself, the query reads all cases of the field partner. */
const COUNT_COMPLEXITY = 20;

/** A page of cases. The cases of all pages are counted when a field needs it, once for all fields. */
interface CasesPage {
  readonly count: () => Promise<CountedCases>;
}

const CasesRef = builder.connectionObject<typeof CaseRef, CasesPage>(
  {
    type: CaseRef,
    name: "QueryCasesConnection",
    description: "A page of cases.",
    fields: (t) => ({
      totalCount: t.int({
        description: "The number of cases on all pages.",
        complexity: COUNT_COMPLEXITY,
        resolve: async ({ count }) => total((await count()).counts),
      }),
      facets: t.field({
        type: FacetsRef,
        description: "How many cases on all pages have each lender, city, bucket and status.",
        complexity: COUNT_COMPLEXITY,
        resolve: ({ count }) => count(),
      }),
    }),
  },
  { name: "QueryCasesConnectionEdge", description: "A case in the list." },
);

builder.queryField("cases", (t) =>
  t.field({
    type: CasesRef,
    nullable: true,
    description:
      "The cases that you hold. A cursor is valid only with the filter, search, sort order and place of the " +
      "request that returned it.",
    args: {
      filter: t.arg({ type: CaseFilterInput, description: "Selects cases; by default all." }),
      search: t.arg.string({
        description:
          "Finds cases whose borrower's name contains each word, or whose loan number ends with the whole text. A " +
          "blank text finds all cases.",
      }),
      sort: t.arg({ type: CaseSortRef, defaultValue: "priority", description: "The sort order." }),
      near: t.arg({
        type: NearInput,
        description: "The place from which distances are measured; required by `NEAR_ME`.",
      }),
      ...pageArgs,
    },
    complexity: rootPageComplexity,
    async resolve(_, { filter, search, sort, near, ...args }, context) {
      const page = pageOf(args);
      if (sort === "near" && !near) throw badInput("`NEAR_ME` needs `near`: a place to sort by.");
      const request = {
        ...page,
        filter: filter ? filterOf(filter) : {},
        search: searchOf(search),
        sort: sort ?? "priority",
        near: near ? nearOf(near) : undefined,
      };
      const lenders = await ownLenders(context);
      const list = {
        ...request,
        lenders: [...lenders.values()],
        blockedLenderIds: [...lenders.values()].filter(({ state }) => state === "suspended").map(({ id }) => id),
        dayAt: (lenderId: string, at: Date) => dayIn(lenders.get(lenderId)!.timeZone, at),
      };
      const { em } = context.reads;
      const { items, hasNext } = await readPage(() => casesOfFieldPartner(em, viewer(context).id, list));
      const edges = items.map((listed) => ({ cursor: listed.cursor, node: listed.case }));
      const count = once(async () => {
        return { counts: await countCasesOfFieldPartner(em, viewer(context).id, list), lenders };
      });
      return { ...connectionOf(edges, { hasNextPage: hasNext, after: page.after }), count };
    },
  }),
);

/** Returns a function that calls `make` at its first call only, and then always returns the same promise. */
function once<Made>(make: () => Promise<Made>): () => Promise<Made> {
  let made: Promise<Made> | undefined;
  return () => (made ??= make());
}

/** Loads the lenders of the field partner's cases, by id, with the loader that the fields of cases use too. */
async function ownLenders(context: Context): Promise<Map<string, Lender>> {
  const ids = await lenderIdsOfFieldPartner(context.reads.em, viewer(context).id);
  const lenders = await Promise.all(ids.map((id) => context.reads.lender.load(id)));
  return new Map(lenders.map((lender) => [lender.id, lender]));
}
