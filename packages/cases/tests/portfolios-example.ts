import { newId, transaction } from "@collections/database";
import type { Database } from "@collections/entities";
import type { Address } from "../src/fields/contact-readers.ts";
import { exampleCase } from "./example-case.ts";
import type { ImportedCase } from "../src/case/locked-case.ts";
import { casesOfFieldPartner, type CaseListRequest, type ListedCase } from "../src/list/own-cases.ts";
import type { Page } from "../src/list/page.ts";
import { insertCases, writeImportedCases } from "../src/case/write-cases.ts";

export const NOW = new Date("2026-11-20T10:00:00Z");
export const TODAY = "2026-11-20";

/** Functions that create cases of one lender, assigned to field partners, and that list these cases. */
export interface Portfolios {
  readonly lenderId: string;
  /** Creates a field partner with one case for each element. The element's fields replace those of the example case. */
  hold(cases: readonly Partial<ImportedCase>[]): Promise<{ me: string; held: ImportedCase[] }>;
  /** Adds a case to a field partner. */
  add(me: string, overrides: Partial<ImportedCase>): Promise<void>;
  write(cases: readonly ImportedCase[]): Promise<void>;
  promise(theCase: ImportedCase, dueOn: string, state?: string): Promise<void>;
  list(me: string, request: Partial<CaseListRequest>, now?: Date): Promise<Page<ListedCase>>;
  /** Reads all pages of a list, and returns the ids of each page. */
  allPages(me: string, request: Partial<CaseListRequest>): Promise<string[][]>;
  /** Reads a list in pages of two, and returns the position of each listed case in the array `held`. */
  order(me: string, request: Partial<CaseListRequest>, held: readonly ImportedCase[]): Promise<number[]>;
}

export function portfoliosIn(database: Database): Portfolios {
  const lenderId = newId();

  function list(me: string, request: Partial<CaseListRequest>, now = NOW): Promise<Page<ListedCase>> {
    const lenders = [{ id: lenderId, code: "ACME" }];
    const dayAt = (_lender: string, at: Date) => at.toISOString().slice(0, 10);
    return casesOfFieldPartner(database.em(), me, { first: 50, lenders, dayAt, ...request }, now);
  }

  async function allPages(me: string, request: Partial<CaseListRequest>): Promise<string[][]> {
    const { items, hasNext } = await list(me, request);
    const ids = items.map(({ case: { id } }) => id);
    return hasNext ? [ids, ...(await allPages(me, { ...request, after: items.at(-1)!.cursor }))] : [ids];
  }

  function holding(me: string, overrides: Partial<ImportedCase>): ImportedCase {
    const id = newId();
    const tail = overrides.sourceLoanNumber;
    const own = { id, lenderId, status: "assigned", assignedFieldPartnerId: me } as const;
    return exampleCase({ ...own, ...overrides, sourceLoanNumber: tail === undefined ? `LN-${id}-x` : `${id}${tail}` });
  }

  async function store(cases: readonly ImportedCase[]): Promise<void> {
    await transaction(database.em(), (tx) => insertCases(tx, cases, [], NOW));
  }

  return {
    lenderId,
    list,
    allPages,
    async hold(cases) {
      const me = newId();
      const held = cases.map((overrides) => holding(me, overrides));
      await store(held);
      return { me, held };
    },
    add: (me, overrides) => store([holding(me, overrides)]),
    async write(cases) {
      await transaction(database.em(), async (tx) => writeImportedCases(tx, cases, NOW));
    },
    async order(me, request, held) {
      const pages = await allPages(me, { ...request, first: 2 });
      return pages.flat().map((id) => held.findIndex((theCase) => theCase.id === id));
    },
    async promise({ id, assignedFieldPartnerId }, dueOn, state = "open") {
      const visitId = newId();
      await database.pool.query(
        `insert into cases.visit (lender_id, id, case_id, field_partner_id, started_at, start_received_at)
         values ($1, $2, $3, $4, $5, $5)`,
        [lenderId, visitId, id, assignedFieldPartnerId, NOW],
      );
      await database.pool.query(
        `insert into cases.promise
           (lender_id, id, case_id, visit_id, amount_minor, currency, due_on, state, created_at)
         values ($1, $2, $3, $4, 100, 'INR', $5, $6, $7)`,
        [lenderId, newId(), id, visitId, dueOn, state, NOW],
      );
    },
  };
}

export function address(parts: Partial<Address>): Address {
  const nothing = { line1: null, line2: null, landmark: null, city: null, district: null, state: null };
  return { ...nothing, postalCode: null, country: "IN", latitude: null, longitude: null, ...parts };
}
