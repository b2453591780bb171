import type { UploadKind, UploadName } from "./reads/uploads.ts";
import type { SentFile } from "./received-form.ts";
import type { CreatedKey, KeyOrder, PlayedScene, SceneToPlay, SettingsChange, TestedCall } from "./reads/connection.ts";
import type { BookedPayments, BookingForm, MoneyOrder } from "./reads/money-changes.ts";

/** The outcome of a change: it was made, its object does not exist, or it was refused, with a sentence for people. */
export type ActOutcome =
  | { readonly kind: "done" }
  | { readonly kind: "not_found" }
  | { readonly kind: "refused"; readonly detail: string };

/** The outcome of an act whose result is shown once. */
export type ShownOutcome<Shown> = Exclude<ActOutcome, { kind: "done" }> | Shown;

/** The orders for a case that need nothing but a reason. */
export const CASE_ORDERS = ["unassign", "hold", "release", "close"] as const;
/** An order for a case. */
export type CaseOrderKind = (typeof CASE_ORDERS)[number];

/** The orders for a field partner. */
export type PersonOrderKind = "suspend" | "resume";

/** A loan of a lender. */
export interface LoanName {
  readonly lenderCode: string;
  readonly loan: string;
}

/**
 * The changes that forms of the console ask for. The service implements them with the verbs of the commands, and the audit
 * names the operator. A reason is empty if the operator gave none.
 */
export interface ConsoleActs {
  /** Assigns the current case of a loan to a field partner. */
  readonly assignCase: (
    order: LoanName & { readonly fieldPartnerId: string; readonly reason: string },
  ) => Promise<ActOutcome>;
  /** Unassigns, holds, releases or closes the current case of a loan. */
  readonly orderCase: (
    order: LoanName & { readonly order: CaseOrderKind; readonly reason: string },
  ) => Promise<ActOutcome>;
  /** Sends an event to its lender again. */
  readonly replayDelivery: (replay: { readonly eventId: string; readonly reason: string }) => Promise<ActOutcome>;
  /** Gives a field partner a new phone number. */
  readonly changePhone: (change: {
    readonly fieldPartnerId: string;
    readonly phone: string;
    readonly reason: string;
  }) => Promise<ActOutcome>;
  /**
   * Moves all open cases from one field partner to another, if they are still the cases of the dry run whose `version` the
   * form names.
   */
  readonly moveCases: (
    move: MoveRequest & { readonly version: string; readonly reason: string },
  ) => Promise<ActOutcome>;
  /** Suspends a field partner and ends every session, or lets a suspended one sign in again. */
  readonly orderPerson: (order: {
    readonly fieldPartnerId: string;
    readonly order: PersonOrderKind;
    readonly reason: string;
  }) => Promise<ActOutcome>;
  /**
   * Spreads the unassigned cases of a lender over field partners, if they are still the cases of the dry run whose `version`
   * the form names.
   */
  readonly spreadCases: (
    spread: SpreadRequest & { readonly version: string; readonly reason: string },
  ) => Promise<ActOutcome>;
  /** Stores a file, and has it checked. `fields` has the options of the form. */
  readonly storeFile: (
    upload: UploadName & {
      readonly kind: UploadKind;
      readonly file: SentFile;
      readonly fields: Record<string, string>;
    },
  ) => Promise<ActOutcome>;
  /** Has a file checked again with other options, if `version` names its last check. */
  readonly checkFile: (
    check: UploadName & { readonly version: string; readonly fields: Record<string, string> },
  ) => Promise<ActOutcome>;
  /** Has a file applied as its last check has shown, if `version` names this check. */
  readonly applyFile: (
    apply: UploadName & { readonly version: string; readonly reason: string },
  ) => Promise<ActOutcome>;
  /**
   * Records a payout, or reverses or moves a payment. If a second operator has to confirm the change, asks for that and
   * returns `waiting`.
   */
  readonly changeMoney: (
    order: MoneyOrder,
  ) => Promise<ActOutcome | { readonly kind: "waiting"; readonly requestId: string }>;
  /**
   * Books the missing payments of a file. If a second operator has to confirm the booking, asks for that and returns
   * `waiting`.
   */
  readonly bookMissing: (
    form: BookingForm,
  ) => Promise<ShownOutcome<BookedPayments | { readonly kind: "waiting"; readonly requestId: string }>>;
  /** Confirms a change for which another operator has asked, and makes it. */
  readonly confirmRequest: (requestId: string) => Promise<ActOutcome | BookedPayments>;
  /** Declines a change, or withdraws the operator's own request. */
  readonly declineRequest: (requestId: string) => Promise<ActOutcome>;
  /** Changes settings of a lender, unless another person has changed them since they were shown. */
  readonly changeSettings: (change: SettingsChange) => Promise<ActOutcome>;
  /** Creates an API key. Only the answer has its secret. */
  readonly createKey: (name: { readonly lenderCode: string }) => Promise<ShownOutcome<CreatedKey>>;
  /** Retires or revokes an API key, or signs webhooks with it. */
  readonly orderKey: (order: KeyOrder) => Promise<ActOutcome>;
  /** Sends a ping to the callback of a lender. */
  readonly testCallback: (name: {
    readonly lenderCode: string;
  }) => Promise<ShownOutcome<{ readonly kind: "tested"; readonly call: TestedCall }>>;
  /** Calls the mint endpoint of a lender as a test. `amount` is in major units. */
  readonly testMint: (test: {
    readonly lenderCode: string;
    readonly loan: string;
    readonly amount: string;
  }) => Promise<ShownOutcome<{ readonly kind: "tested"; readonly call: TestedCall }>>;
  /** Plays a scene on a loan. Refused outside a sandbox. */
  readonly playScene: (play: SceneToPlay) => Promise<ShownOutcome<PlayedScene>>;
}

/** The changes that a lender's staff may ask for. The service restricts them to the lender. */
export type LenderActs = Pick<
  ConsoleActs,
  | "replayDelivery"
  | "storeFile"
  | "checkFile"
  | "applyFile"
  | "changeSettings"
  | "createKey"
  | "orderKey"
  | "testCallback"
  | "testMint"
  | "playScene"
>;

/** A request to move all open cases from one field partner to another. */
export interface MoveRequest {
  readonly from: string;
  readonly to: string;
}

/** The quantity that a spread evens out. */
export type SpreadBy = "amount" | "postal-code";

/** A request to spread the unassigned cases of a lender. */
export interface SpreadRequest {
  readonly lenderCode: string;
  readonly by: string;
  /** A name, phone or id for each field partner. The form that spreads the cases has ids. */
  readonly people: readonly string[];
}

/** The cases that one person gets or would get, in one currency. */
export interface MovedShare {
  readonly fieldPartnerId: string;
  readonly displayName: string;
  readonly cases: number;
  readonly outstandingAmount: string;
  readonly currency: string;
}

/** The result of moves of the cases of one lender. */
export interface LenderMoves {
  readonly lenderCode: string;
  readonly assigned: number;
  readonly unchanged: number;
  readonly fieldPartners: readonly MovedShare[];
  /** The number of cases that were refused. */
  readonly rejected: number;
  /** The first refused cases. */
  readonly rejectedMoves: readonly { readonly sourceLoanNumber: string | null; readonly detail: string }[];
}
