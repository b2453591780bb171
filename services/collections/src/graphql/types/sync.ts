import { changedCases, goneCaseIds, type OwnCase, type Page } from "@collections/cases";
import { readSnapshot } from "@collections/database";
import type { Tx } from "@collections/entities";
import { changedEarnings, type Earning } from "@collections/earnings";
import { changedLinks, type PaymentLink } from "@collections/payment-links";
import { builder } from "../plumbing/builder.ts";
import { CaseRef } from "./case.ts";
import { pageOf, rootPageComplexity } from "../plumbing/connection.ts";
import { viewer } from "../plumbing/context.ts";
import { EarningRef } from "./earning.ts";
import { encodeId } from "../plumbing/global-id.ts";
import { PaymentLinkRef } from "./payment-link.ts";
import { cursorOf, isAtEnd, runOf, sinceForGood, type SyncKind, type SyncPlace, type SyncRun } from "./sync-run.ts";

interface SyncPage {
  readonly run: SyncRun;
  readonly cases: Page<OwnCase>;
  readonly goneCases: Page<string>;
  readonly paymentLinks: Page<PaymentLink>;
  readonly earningLines: Page<Earning>;
}

const DEFAULT_FIRST = 50;

/**
 * The complexity of a list in a page. It does not depend on the length of the list, because the complexity of `sync`
 * already includes the page size `first`.
 */
const IN_PAGE = { field: 1, multiplier: 1 };

const SyncPageRef = builder.objectRef<SyncPage>("SyncPage").implement({
  description:
    "One page of changes of each kind. No change is missing, and a change may come twice. First remove the " +
    "cases in `goneCaseIds`, then replace or add each item by its id.",
  fields: (t) => ({
    cursor: t.string({
      description:
        "The `since` of the request for the next page, or of the next sync. Store it together with the page.",
      resolve: (page) => cursorOf(nextOf(page)),
    }),
    hasMore: t.boolean({
      description: "Whether there are more pages. If true, request the next page now.",
      resolve: (page) => !isAtEnd(nextOf(page).places),
    }),
    isFull: t.boolean({
      description:
        "Whether this sync returns everything. If true, then after the last page, remove each stored case that " +
        "was in none of the pages.",
      resolve: ({ run }) => run.since === null,
    }),
    cases: t.field({
      type: [CaseRef],
      complexity: IN_PAGE,
      description: "Your cases that are new or have changed.",
      resolve: ({ cases }) => [...cases.items],
    }),
    goneCaseIds: t.idList({
      complexity: IN_PAGE,
      description: "The `id` of each case that is no longer yours.",
      resolve: ({ goneCases }) => goneCases.items.map((id) => encodeId("Case", id)),
    }),
    paymentLinks: t.field({
      type: [PaymentLinkRef],
      complexity: IN_PAGE,
      description:
        "Your links that have changed, also by a reversal, or whose messages have changed; in a full sync the links of the " +
        "last 30 days.",
      resolve: ({ paymentLinks }) => [...paymentLinks.items],
    }),
    earningLines: t.field({
      type: [EarningRef],
      complexity: IN_PAGE,
      description:
        "Your earnings that are new, credited, paid out or reversed; in a full sync the earnings of the last 30 days.",
      resolve: ({ earningLines }) => [...earningLines.items],
    }),
  }),
});

builder.queryField("sync", (t) =>
  t.field({
    type: SyncPageRef,
    nullable: true,
    description: "The changes since the previous sync, for an app that stores its cases.",
    args: {
      since: t.arg.string({
        description:
          "The latest `cursor`. Without a cursor, or with one older than 30 days, the sync returns everything.",
      }),
      first: t.arg.int({
        defaultValue: DEFAULT_FIRST,
        description: "The maximum number of items of each kind, up to 100.",
      }),
    },
    complexity: rootPageComplexity,
    resolve(_, { since, ...args }, context) {
      const { first } = pageOf(args);
      const run = runOf(since ?? undefined, new Date());
      const fieldPartnerId = viewer(context).id;
      // Read all kinds in one database snapshot: a case that is assigned again during the reading must not be both gone
      // and present in the page.
      return readSnapshot(context.reads.em, (tx) => readPage(tx, fieldPartnerId, run, first));
    },
  }),
);

async function readPage(tx: Tx, fieldPartnerId: string, run: SyncRun, first: number): Promise<SyncPage> {
  const { since, places } = run;
  const forGood = sinceForGood(run);
  const [cases, goneCases, paymentLinks, earningLines] = await Promise.all([
    from(places.cases, (after) => changedCases(tx, fieldPartnerId, { since, first, after })),
    from(places.goneCases, (after) => goneCaseIds(tx, fieldPartnerId, { since: forGood, first, after })),
    from(places.paymentLinks, (after) =>
      cut(first, (limit) => changedLinks(tx, fieldPartnerId, { since: forGood, after, limit })),
    ),
    from(places.earningLines, (after) =>
      cut(first, (limit) => changedEarnings(tx, fieldPartnerId, { since: forGood, after, limit })),
    ),
  ]);
  return { run, cases, goneCases, paymentLinks, earningLines };
}

/** Reads the next page of a kind. Returns an empty page for a kind that is at its end. */
function from<Item>(place: SyncPlace, read: (after?: string) => Promise<Page<Item>>): Promise<Page<Item>> {
  if (place === "end") return Promise.resolve({ items: [], hasNext: false });
  return place === "beginning" ? read() : read(place.after);
}

async function cut<Item>(first: number, read: (limit: number) => Promise<Item[]>): Promise<Page<Item>> {
  const items = await read(first + 1);
  return { items: items.slice(0, first), hasNext: items.length > first };
}

/** Returns the sync as it continues after a page: with the place where the next page of each kind of row starts. */
function nextOf({ run, cases, goneCases, paymentLinks, earningLines }: SyncPage): SyncRun {
  const behind = ({ items, hasNext }: Page<{ readonly id: string } | string>): SyncPlace => {
    const last = items.at(-1);
    if (!hasNext || last === undefined) return "end";
    return { after: typeof last === "string" ? last : last.id };
  };
  const places: { [Kind in SyncKind]: SyncPlace } = {
    cases: behind(cases),
    goneCases: behind(goneCases),
    paymentLinks: behind(paymentLinks),
    earningLines: behind(earningLines),
  };
  return { ...run, places };
}
