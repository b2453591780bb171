import type { CasesPage, CasesSearch } from "./reads/cases.ts";
import type { PeoplePage, PeopleSearch, PersonView } from "./reads/field-partners.ts";
import type { LendersPage, LenderView } from "./reads/lenders.ts";
import type { MoneyPage, MoneySearch } from "./reads/money.ts";
import type { SystemPage } from "./reads/system.ts";

/**
 * The content of the pages. The service implements it with the reads of the command line, so the pages have no rule of their own
 * and cannot change anything. The values are those of `--json`.
 */
export interface ConsoleDesk {
  /** Returns the lenders, and today's figures of one of them: of `lender`, or of the first. */
  readonly figures: (lender: string | undefined) => Promise<FiguresPage>;
  /** Finds what a text names. Returns undefined for a text that cannot be searched. */
  readonly find: (text: string) => Promise<readonly Finding[] | undefined>;
  /** Returns the current case of a loan, without contact data. Undefined if there is no such lender or loan. */
  readonly caseOf: (lenderCode: string, loan: string) => Promise<CaseView | undefined>;
  /** Returns a page of the cases of a lender: of `search.lender`, or of the first. */
  readonly cases: (search: CasesSearch) => Promise<CasesPage>;
  /** Returns a page of the field partners, in the order of their registration. */
  readonly fieldPartners: (search: PeopleSearch) => Promise<PeoplePage>;
  /** Returns a field partner by the public id. Undefined if there is none. */
  readonly fieldPartner: (id: string) => Promise<PersonView | undefined>;
  /** Returns a page of the lenders by code, after the lender with the code `after`. */
  readonly lenders: (after: string | undefined) => Promise<LendersPage>;
  /** Returns a lender, with its deliveries before the event `before`. Undefined if there is no such lender. */
  readonly lender: (code: string, before: string | undefined) => Promise<LenderView | undefined>;
  /** Returns the payouts that are due, and the reconciliations of a lender. */
  readonly money: (search: MoneySearch) => Promise<MoneyPage>;
  /** Returns the versions, and a report of `doctor` that all pages share. */
  readonly system: () => Promise<SystemPage>;
  /** Returns a page of the audit, newest first. */
  readonly audit: (search: AuditSearch) => Promise<AuditPage>;
}

/** A case, with what is known about it and what happened on it. */
export interface CaseView {
  readonly lenderCode: string;
  readonly sourceLoanNumber: string;
  readonly caseId: string;
  readonly cycle: number;
  readonly status: string;
  readonly timeZone: string;
  readonly borrowerName: string;
  readonly erasedAt: string | null;
  readonly facts: readonly (readonly [name: string, value: string])[];
  /** Newest first. `at` is a local time in `timeZone`. */
  readonly timeline: readonly { readonly at: string; readonly what: string; readonly details: string }[];
}

/** Which entries of the audit to show. */
export interface AuditSearch {
  /** Only actions whose kind begins with this text. */
  readonly act: string | undefined;
  /** Only actions of the operator with this name. */
  readonly by: string | undefined;
  /** Only entries before the entry with this id. */
  readonly before: string | undefined;
}

/** A page of the audit. */
export interface AuditPage {
  readonly entries: readonly {
    /** ISO 8601, in UTC. */
    readonly at: string;
    readonly act: string;
    readonly by: string;
    readonly lenderCode: string | null;
    readonly fieldPartnerName: string | null;
    readonly operator: string | null;
    readonly reason: string | null;
    readonly data: string;
  }[];
  /** The `before` of the next page; null on the last page. */
  readonly next: string | null;
}

/** The figures of one lender, and the lenders to choose from. */
export interface FiguresPage {
  /** The codes of all lenders, sorted. */
  readonly lenderCodes: readonly string[];
  /** Undefined if there is no such lender. */
  readonly figures: Figures | undefined;
}

/** The number of payments or reversals, and their sum in each currency. */
export interface Sum {
  readonly count: number;
  readonly amounts: readonly { readonly amount: string; readonly currency: string }[];
}

/** The figures of one day. */
export interface OneDay {
  /** `YYYY-MM-DD` */
  readonly day: string;
  readonly payments: Sum;
  readonly reversals: Sum;
  readonly deductions: Sum;
  readonly excess: Sum;
  /** The reconciled windows that overlap the day, and the differences that their latest runs have found. */
  readonly reconciliations: { readonly windows: number; readonly differences: number };
  readonly visits: { readonly count: number; readonly byDisposition: Readonly<Record<string, number>> };
  readonly promises: { readonly due: number; readonly kept: number; readonly broken: number };
  readonly paymentLinks: { readonly requested: number; readonly minted: number; readonly unavailable: number };
  readonly activeFieldPartners: number;
}

/** The figures of a lender for a day, for the day before, and for now. */
export interface Figures {
  readonly lenderCode: string;
  readonly timeZone: string;
  readonly day: OneDay;
  readonly dayBefore: OneDay;
  readonly unassignedCases: { readonly count: number; readonly isComplete: boolean };
  readonly endpoints: { readonly endpoints: number; readonly suspended: number; readonly failing: number };
}

/** Something that a searched text names. */
export interface Finding {
  readonly kind: string;
  readonly lenderCode: string | null;
  readonly id: string;
  readonly sourceLoanNumber: string | null;
  readonly state: string;
  readonly label: string;
  /** The command that shows more. */
  readonly next: string;
}
