import type { ListedDelivery } from "./reads/listed-delivery.ts";
import type { CaseOrderKind, LenderMoves, MoveRequest, SpreadRequest } from "./acts.ts";
import type { CasesPage, CasesSearch } from "./reads/cases.ts";
import type { ConnectionPage, KeyName, KeyView, ScenesPage, SettingsView } from "./reads/connection.ts";
import type { PeoplePage, PeopleSearch, PersonView } from "./reads/field-partners.ts";
import type { LendersPage, LenderView } from "./reads/lenders.ts";
import type { FeesPage, FeesSearch, LongDownload } from "./reads/fees.ts";
import type { FiguresPage } from "./reads/figures.ts";
import type { MoneyPage, MoneySearch } from "./reads/money.ts";
import type { PaymentsPage, PaymentsSearch } from "./reads/payments.ts";
import type {
  DifferencesSearch,
  ReconciliationsPage,
  ReconciliationsSearch,
  ReconciliationView,
} from "./reads/reconciliations.ts";
import type {
  MissingPayments,
  MoneyOrder,
  MoneyRehearsal,
  MoneyRequest,
  MoneyRequestView,
  PayableView,
  PaymentName,
  PaymentView,
} from "./reads/money-changes.ts";
import type { RequestsPage, RequestsSearch } from "./reads/requests.ts";
import type { SystemPage } from "./reads/system.ts";
import type { Download, UploadKind, UploadName, UploadsPage, UploadView } from "./reads/uploads.ts";

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
  /** Returns what the forms of a loan show of its current case. Undefined if there is no such lender or loan. */
  readonly loanOfForm: (lenderCode: string, loan: string) => Promise<LoanView | undefined>;
  /** Returns a page of the cases of a lender: of `search.lender`, or of the first. */
  readonly cases: (search: CasesSearch) => Promise<CasesPage>;
  /** Returns a page of the field partners, in the order of their registration. */
  readonly fieldPartners: (search: PeopleSearch) => Promise<PeoplePage>;
  /** Returns a field partner by the public id. Undefined for an unknown id. */
  readonly fieldPartner: (id: string) => Promise<PersonView | undefined>;
  /** Returns a page of the lenders by code, after the lender with the code `after`. */
  readonly lenders: (after: string | undefined) => Promise<LendersPage>;
  /** Returns a lender, with its deliveries before the event `before`. Undefined if there is no such lender. */
  readonly lender: (code: string, before: string | undefined) => Promise<LenderView | undefined>;
  /** Returns a page of the payments or reversals of a lender: of `search.lender`, or of the first. */
  readonly payments: (search: PaymentsSearch) => Promise<PaymentsPage>;
  /** Returns a page of the fee statement of a lender: of `search.lender`, or of the first. */
  readonly fees: (search: FeesSearch) => Promise<FeesPage>;
  /** Returns a whole fee statement as CSV, by default of the first lender and of the current month. Undefined if there is no such lender or month. */
  readonly feesFile: (statement: Omit<FeesSearch, "after">) => Promise<LongDownload | undefined>;
  /** Returns a page of the stored reconciliations of a lender: of `search.lender`, or of the first. */
  readonly reconciliations: (search: ReconciliationsSearch) => Promise<ReconciliationsPage>;
  /** Returns a stored reconciliation. Undefined if there is no such lender or reconciliation. */
  readonly reconciliation: (search: DifferencesSearch) => Promise<ReconciliationView | undefined>;
  /** Returns a page of the payouts that are due. */
  readonly money: (search: MoneySearch) => Promise<MoneyPage>;
  /** Returns a payment. Undefined if there is no such payment. */
  readonly payment: (name: PaymentName) => Promise<PaymentView | undefined>;
  /** Returns what can be paid out to a field partner. Undefined for an unknown id. */
  readonly payable: (fieldPartnerId: string) => Promise<PayableView | undefined>;
  /** Finds out what a change of money would do, and changes nothing. */
  readonly rehearsal: (order: MoneyOrder) => Promise<MoneyRehearsal>;
  /** Returns the missing payments of an uploaded file. Undefined if there is no comparison of the file. */
  readonly missingPayments: (name: UploadName) => Promise<MissingPayments | undefined>;
  /** Returns the changes that wait for a second operator, newest first. */
  readonly moneyRequests: () => Promise<readonly MoneyRequest[]>;
  /** Returns a change that waits for a second operator, or was decided. Undefined for an unknown id. */
  readonly moneyRequest: (requestId: string) => Promise<MoneyRequestView | undefined>;
  /** Returns the versions, and a report of `doctor` that all pages share. */
  readonly system: () => Promise<SystemPage>;
  /** Returns a page of the audit, newest first. */
  readonly audit: (search: AuditSearch) => Promise<AuditPage>;
  /** Returns field partners by an id, a name or a phone. Undefined for a text that cannot be searched. */
  readonly people: (text: string) => Promise<readonly PersonSummary[] | undefined>;
  /** Returns a field partner by the id. */
  readonly person: (fieldPartnerId: string) => Promise<PersonSummary | undefined>;
  /** Finds out what a move of all open cases would do, and changes nothing. */
  readonly plannedMoves: (move: MoveRequest) => Promise<MovePlan>;
  /** Returns the codes of all lenders, sorted. */
  readonly lenderCodes: () => Promise<readonly string[]>;
  /** Finds out what a spread would do, and changes nothing. */
  readonly plannedSpread: (spread: SpreadRequest) => Promise<SpreadPlan>;
  /** Returns a page of deliveries, newest first. */
  readonly deliveries: (search: DeliverySearch) => Promise<DeliveriesPage>;
  /** Returns the lenders, and the callback and the keys of one of them: of `lender`, or of the first. */
  readonly connection: (lender: string | undefined) => Promise<ConnectionPage>;
  /** Returns the settings of a lender for a form. Undefined if there is no such lender. */
  readonly settings: (lenderCode: string) => Promise<SettingsView | undefined>;
  /** Returns an API key of a lender, without its secret. Undefined if the lender has no such key. */
  readonly key: (name: KeyName) => Promise<KeyView | undefined>;
  /** Returns the lenders, one of them, and the scenes that a sandbox can play. */
  readonly scenes: (lender: string | undefined) => Promise<ScenesPage>;
  /** Returns a page of the requests of a lender to the REST API: of `search.lender`, or of the first. */
  readonly requests: (search: RequestsSearch) => Promise<RequestsPage>;
  /** Returns the delivery of an event with its attempts. */
  readonly delivery: (eventId: string) => Promise<DeliveryView | undefined>;
  /** Returns the lenders, and the uploads of one kind of one of them: of `lender`, or of the first. */
  readonly uploads: (wanted: {
    readonly lender: string | undefined;
    readonly kind: UploadKind;
  }) => Promise<UploadsPage>;
  /** Returns an upload that has not expired. */
  readonly upload: (name: UploadName) => Promise<UploadView | undefined>;
  /** Returns the rejected rows of an import with the reasons. Undefined if there are none. */
  readonly rejectedRows: (name: UploadName) => Promise<Download | undefined>;
}

/** The reads of pages for a lender's staff. The service restricts them to the lender, in one place for all of them. */
export type LenderDesk = Pick<
  ConsoleDesk,
  | "figures"
  | "find"
  | "cases"
  | "caseOf"
  | "payments"
  | "fees"
  | "feesFile"
  | "reconciliations"
  | "reconciliation"
  | "deliveries"
  | "delivery"
  | "connection"
  | "settings"
  | "key"
  | "scenes"
  | "requests"
  | "uploads"
  | "upload"
  | "rejectedRows"
>;

/** A field partner. The phone is masked. */
export interface PersonSummary {
  readonly fieldPartnerId: string;
  readonly displayName: string;
  readonly phone: string;
  readonly state: string;
  readonly openCases: number;
}

/** The result that a move would have at each lender. `version` changes when other cases would be moved. */
export type MovePlan =
  | { readonly kind: "planned"; readonly version: string; readonly lenders: readonly LenderMoves[] }
  | { readonly kind: "refused"; readonly detail: string };

/**
 * The result that a spread would have. `people` are the field partners whom the request names. `unclear`: `text` names no
 * field partner, or each of `found`.
 */
export type SpreadPlan =
  | (Extract<MovePlan, { kind: "planned" }> & { readonly people: readonly PersonSummary[] })
  | Extract<MovePlan, { kind: "refused" }>
  | { readonly kind: "unclear"; readonly text: string; readonly found: readonly PersonSummary[] };

/** Which deliveries to show. */
export interface DeliverySearch {
  readonly lender: string | undefined;
  readonly state: "waiting" | "in_flight" | "retrying" | "delivered" | "parked" | undefined;
  /** Only deliveries of events before this one. */
  readonly before: string | undefined;
}

/** A page of deliveries. */
export interface DeliveriesPage {
  /** The codes of all lenders, sorted. */
  readonly lenderCodes: readonly string[];
  /** The time zone of all deliveries; null if each has that of its lender. */
  readonly timeZone: string | null;
  readonly deliveries: readonly ListedDelivery[];
  /** The `before` of the next page; null on the last page. */
  readonly next: string | null;
}

/** The delivery of an event. */
export interface DeliveryView {
  readonly eventId: string;
  readonly lenderCode: string;
  /** The code of the kind of event; `what` has its words. */
  readonly kind: string;
  readonly what: string;
  readonly sourceLoanNumber: string;
  readonly state: string;
  readonly timeZone: string;
  /** Whether the event would be sent again. An event that waits is sent anyway. */
  readonly isReplayable: boolean;
  readonly facts: readonly (readonly [name: string, value: string])[];
  /** Newest first. `cause` and `remedy` are empty for an attempt that was acknowledged. */
  readonly attempts: readonly {
    readonly at: string;
    readonly outcome: string;
    readonly cause: string;
    readonly remedy: string;
  }[];
}

/** What the forms of a loan show of its current case. */
export interface LoanView {
  readonly lenderCode: string;
  readonly sourceLoanNumber: string;
  readonly borrowerName: string;
  readonly erasedAt: string | null;
  /** The name of the field partner that has the case; null if the case is not assigned. */
  readonly holderName: string | null;
}

/** A case, with what is known about it and what happened on it. */
export interface CaseView extends LoanView {
  readonly caseId: string;
  readonly cycle: number;
  readonly status: string;
  readonly timeZone: string;
  /** Whether the case can be assigned, and the orders that its state allows. */
  readonly allows: { readonly assign: boolean; readonly orders: readonly CaseOrderKind[] };
  readonly facts: readonly (readonly [name: string, value: string])[];
  /** The field partner that has the case. */
  readonly fieldPartner: { readonly id: string } | null;
  /** Newest first. `at` is a local time in `timeZone`. `eventId` names an event that was not delivered. */
  readonly timeline: readonly {
    readonly at: string;
    readonly what: string;
    readonly details: string;
    /** The code of the act or event that `details` names in words. */
    readonly code?: string | undefined;
    readonly eventId?: string | undefined;
  }[];
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
  /** The time zone of all entries; null if each has that of its lender, or UTC. */
  readonly timeZone: string | null;
  /** The known acts, grouped by the beginning of their codes. */
  readonly actGroups: readonly {
    readonly beginning: string;
    readonly words: string;
    readonly acts: readonly (readonly [act: string, words: string])[];
  }[];
  readonly entries: readonly {
    /** A local time in `timeZone`. */
    readonly at: string;
    readonly timeZone: string;
    /** The code of the act; `what` has its words. */
    readonly act: string;
    readonly what: string;
    readonly by: string;
    readonly lenderCode: string | null;
    /** The number of the loan of `lenderCode` that the act concerns. */
    readonly loan: string | null;
    readonly fieldPartnerName: string | null;
    readonly operator: string | null;
    readonly reason: string | null;
    readonly data: string;
  }[];
  /** The `before` of the next page; null on the last page. */
  readonly next: string | null;
}

/** Something that a searched text names. */
export interface Finding {
  readonly kind: string;
  readonly lenderCode: string | null;
  readonly id: string;
  readonly sourceLoanNumber: string | null;
  readonly state: string;
  readonly label: string;
}
