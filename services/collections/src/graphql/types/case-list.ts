import { casesOfFieldPartner, lenderIdsOfFieldPartner } from "@collections/cases";
import { dayIn } from "@collections/local-time";
import type { Lender } from "@collections/lenders";
import { builder } from "../plumbing/builder.ts";
import { CaseRef } from "./case.ts";
import { CaseFilterInput, CaseSortRef, filterOf, NearInput, nearOf, searchOf } from "./case-list-input.ts";
import { badInput } from "../plumbing/client-error.ts";
import { connectionOf, pageArgs, pageOf, readPage, rootPageComplexity } from "../plumbing/connection.ts";
import { type Context, viewer } from "../plumbing/context.ts";

const CasesRef = builder.connectionObject(
  { type: CaseRef, name: "QueryCasesConnection", description: "A page of cases." },
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
      const { items, hasNext } = await readPage(() =>
        casesOfFieldPartner(context.reads.em, viewer(context).id, {
          ...request,
          lenders: [...lenders.values()],
          blockedLenderIds: [...lenders.values()].filter(({ state }) => state === "suspended").map(({ id }) => id),
          dayAt: (lenderId, at) => dayIn(lenders.get(lenderId)!.timeZone, at),
        }),
      );
      const edges = items.map((listed) => ({ cursor: listed.cursor, node: listed.case }));
      return connectionOf(edges, { hasNextPage: hasNext, after: page.after });
    },
  }),
);

/** Loads the lenders of the field partner's cases, by id, with the loader that the fields of cases use too. */
async function ownLenders(context: Context): Promise<Map<string, Lender>> {
  const ids = await lenderIdsOfFieldPartner(context.reads.em, viewer(context).id);
  const lenders = await Promise.all(ids.map((id) => context.reads.lender.load(id)));
  return new Map(lenders.map((lender) => [lender.id, lender]));
}
