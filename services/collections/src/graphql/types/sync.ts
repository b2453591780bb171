import { changedCases, goneCaseIds, type OwnCase, type Page } from "@collections/cases";
import { readSnapshot, type Tx } from "@collections/database";
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

/** The complexity of the lists in a page. `first` is counted once, at `sync`. */
const IN_PAGE = { field: 1, multiplier: 1 };

const SyncPageRef = builder.objectRef<SyncPage>("SyncPage").implement({
  description:
    "What has changed, of each kind a page. Nothing is missed and some of it comes twice: take goneCaseIds away first, " +
    "then put each item in the place of the one with its id.",
  fields: (t) => ({
    cursor: t.string({
      description: "The `since` of the next page, or of the next sync. Store it together with the page.",
      resolve: (page) => cursorOf(nextOf(page)),
    }),
    hasMore: t.boolean({
      description: "Whether to ask for the next page now.",
      resolve: (page) => !isAtEnd(nextOf(page).places),
    }),
    isFull: t.boolean({
      description:
        "Whether the pages of this sync are all that there is: after the last one drop every case that was in none of them.",
      resolve: ({ run }) => run.since === null,
    }),
    cases: t.field({
      type: [CaseRef],
      complexity: IN_PAGE,
      description: "Cases of yours that are new or look different.",
      resolve: ({ cases }) => [...cases.items],
    }),
    goneCaseIds: t.idList({
      complexity: IN_PAGE,
      description: "`Case.id` of cases that are not yours any more.",
      resolve: ({ goneCases }) => goneCases.items.map((id) => encodeId("Case", id)),
    }),
    paymentLinks: t.field({
      type: [PaymentLinkRef],
      complexity: IN_PAGE,
      description: "Links of yours that have changed, or whose messages have; in a full sync those of 30 days.",
      resolve: ({ paymentLinks }) => [...paymentLinks.items],
    }),
    earningLines: t.field({
      type: [EarningRef],
      complexity: IN_PAGE,
      description: "Earnings of yours that are new, credited or paid out; in a full sync those of 30 days.",
      resolve: ({ earningLines }) => [...earningLines.items],
    }),
  }),
});

builder.queryField("sync", (t) =>
  t.field({
    type: SyncPageRef,
    nullable: true,
    description: "What has changed since the sync before, for an app that keeps its cases.",
    args: {
      since: t.arg.string({
        description: "The newest `cursor`; everything without it, or when it is older than 30 days.",
      }),
      first: t.arg.int({ defaultValue: DEFAULT_FIRST, description: "Items of each kind at most, up to 100." }),
    },
    complexity: rootPageComplexity,
    resolve(_, { since, ...args }, context) {
      const { first } = pageOf(args);
      const run = runOf(since ?? undefined, new Date());
      const fieldPartnerId = viewer(context).id;
      // One snapshot for all kinds: a case that is assigned again meanwhile must not be both gone and present in the
      // page.
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

/** Reads the next page of a kind. A kind at its end is not read again. */
function from<Item>(place: SyncPlace, read: (after?: string) => Promise<Page<Item>>): Promise<Page<Item>> {
  if (place === "end") return Promise.resolve({ items: [], hasNext: false });
  return place === "beginning" ? read() : read(place.after);
}

async function cut<Item>(first: number, read: (limit: number) => Promise<Item[]>): Promise<Page<Item>> {
  const items = await read(first + 1);
  return { items: items.slice(0, first), hasNext: items.length > first };
}

/** The sync with the places after this page. */
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
