import type { Answer, Health, Warning } from "./answer.ts";
import { ProblemError } from "./call-error.ts";
import { type CaseImport, type CaseRow, ImportRejectedError, rowForRequest } from "./case-import.ts";
import type { CaseSnapshot } from "./case-snapshot.ts";
import { stringifyExact } from "./exact-json.ts";
import {
  type CaseFilter,
  type CasePage,
  eachPage,
  type ListedCase,
  type ListedPayment,
  type PaymentFilter,
  type PaymentPage,
} from "./lists.ts";
import { bodyOfMintTest, type MintLinkTest, type MintToTest } from "./mint-link-test.ts";
import { type Booking, type CapturedPayment, bodyOfPayment, repeatedBooking } from "./payment-confirmation.ts";
import { bodyOfReversal, repeatedReversal, type ReturnedPayment, type Reversal } from "./payment-reversal.ts";
import {
  bodyOfReconciliation,
  type Reconciliation,
  type ReconciliationPage,
  type ReconciliationRequest,
} from "./reconciliation.ts";
import type { PortalLink, PortalPerson } from "./portal-link.ts";
import type { PlayedScene, SandboxScene } from "./sandbox-scene.ts";
import type { ServiceAnswer } from "./service-answer.ts";
import type { RequestToDebug, SignatureDiagnosis } from "./signature-diagnosis.ts";
import {
  type Call,
  type CallerOptions,
  type CallOptions,
  pause,
  SIGNATURE_MAX_AGE_MS,
  SignedCaller,
} from "./signed-call.ts";
import type {
  CountedReplay,
  Delivery,
  DeliveryDetails,
  DeliveryFilter,
  DeliveryPage,
  Replay,
  ReplayedDelivery,
  ReplayFilter,
  StartedReplay,
  WebhookTest,
} from "./webhook-delivery.ts";

const API = "/api/v1/partner";
const DELIVERIES = `${API}/webhooks/deliveries`;
/** The time limit of one attempt of an import. An import of 1,000 rows in 5 MiB takes longer than any other call. */
const IMPORT_ATTEMPT_TIMEOUT_MS = 60_000;
/** The time limit of one attempt of a reconciliation, which compares up to 10,000 rows with a window of 32 days. */
const RECONCILE_ATTEMPT_TIMEOUT_MS = 60_000;

/** Options of a client. */
export interface ClientOptions extends CallerOptions {
  /** Called for every warning in an answer, including the warnings of rows. `about` is the path of the call. */
  readonly onWarning?: (warning: Warning, about: string) => void;
}

/** Options of an import. */
export interface ImportOptions extends CallOptions {
  /** If one row is rejected, no row is applied, and the call throws ImportRejectedError. */
  readonly atomic?: boolean;
}

/** Options of a replay. */
export interface ReplayOptions extends CallOptions {
  /** How many events per second the service sends: 1 to 1,000, by default 50. */
  readonly ratePerSecond?: number;
}

/**
 * Makes all calls that a lender can make to the service (contract: Partner endpoints). The client signs each call, and
 * retries it with the same bytes if a retry may succeed. Amounts are text. Methods throw a CollectionsError, or the
 * reason of `signal`.
 *
 * @example
 * const baseUrl = "https://collections.example";
 * const client = new CollectionsClient({ baseUrl, apiKeyId: "lk_sandbox_7f3a", hmacSecret: secret });
 * const borrower = { borrowerName: "Ravi Kumar", borrowerPhone: "+919800000001" };
 * await client.importCases([{ sourceLoanNumber: "LN-1001", ...borrower, outstandingAmount: "5000.10" }]);
 * const { outstandingAfter } = await client.confirmPayment("LN-1001", payment);
 */
export class CollectionsClient {
  readonly #caller: SignedCaller;
  readonly #onWarning: ClientOptions["onWarning"];

  constructor(options: ClientOptions) {
    this.#caller = new SignedCaller(options);
    this.#onWarning = options.onWarning;
  }

  /** Checks that the service accepts your signature. Returns the lender and the API key that the service identified. */
  health(options?: CallOptions): Promise<Health> {
    return this.#get(`${API}/health`, options);
  }

  /**
   * Imports up to 1,000 rows. If rows are rejected, `success` is false, `results` has their errors, and the other rows
   * are applied. The client repeats the call for at most 2.5 minutes; all its attempts count as one import. Calling
   * this method again creates a second import, whose balances would overwrite payments made in between. To prevent
   * this, give rows an `outstandingAsOf`.
   */
  importCases(rows: readonly CaseRow[], options: ImportOptions = {}): Promise<CaseImport> {
    return this.#import(rows, options, false);
  }

  /** Reports what an import would do, and changes nothing. */
  rehearseImport(rows: readonly CaseRow[], options: ImportOptions = {}): Promise<CaseImport> {
    return this.#import(rows, options, true);
  }

  /** Returns the loan's current case. */
  async getCase(loan: string, options?: CallOptions): Promise<CaseSnapshot> {
    return snapshotOf(await this.#call({ method: "GET", path: casePath(loan) }, options));
  }

  /** Returns the loan's current case, or undefined if its `etag` has not changed. */
  async getCaseIfChanged(loan: string, etag: string, options?: CallOptions): Promise<CaseSnapshot | undefined> {
    const headers = { "If-None-Match": etag };
    const answer = await this.#call({ method: "GET", path: casePath(loan), headers }, options);
    return answer.status === 304 ? undefined : snapshotOf(answer);
  }

  /**
   * Confirms a captured payment exactly once: call it again with the same arguments until it resolves. `repeated` is
   * true if the payment had been booked before, and `reversals` has what was reversed since. Throws ReferenceConflictError
   * if another payment is booked under this reference.
   */
  async confirmPayment(loan: string, payment: CapturedPayment, options?: CallOptions): Promise<Booking> {
    const path = `${casePath(loan)}/payments/confirm`;
    try {
      const booking = await this.#post<Booking>(path, bodyOfPayment(payment), options);
      return { ...booking, repeated: false, reversals: [] };
    } catch (error) {
      if (error instanceof ProblemError && error.code === "DUPLICATE_CONFIRMATION") return repeatedBooking(error);
      throw error;
    }
  }

  /**
   * Reverses a confirmed payment or a part of it exactly once: call it again with the same arguments until it resolves.
   * `repeated` is true if the reversal had been recorded before. Throws ReversalConflictError if another reversal is
   * recorded under this `reversalReference`.
   */
  async reversePayment(loan: string, returned: ReturnedPayment, options?: CallOptions): Promise<Reversal> {
    const path = `${casePath(loan)}/payments/reverse`;
    try {
      const reversal = await this.#post<Reversal>(path, bodyOfReversal(returned), options);
      return { ...reversal, repeated: false };
    } catch (error) {
      if (error instanceof ProblemError && error.code === "DUPLICATE_REVERSAL") return repeatedReversal(error);
      throw error;
    }
  }

  /**
   * Yields your booked payments that match the filter, in the order in which they were booked. Loads page after page, and
   * misses and repeats none, also while payments are confirmed. The time limits of `options` apply to each page.
   */
  async *payments(filter: PaymentFilter = {}, options?: CallOptions): AsyncGenerator<ListedPayment, void, undefined> {
    const read = (cursor?: string) => this.listPayments({ ...filter, cursor }, options);
    for await (const page of eachPage(read, (pauseMs) => pause(pauseMs, options?.signal))) yield* page.payments;
  }

  /** Returns one page of your booked payments. `cursor` is the `nextCursor` of the previous page with the same filter. */
  listPayments(
    filter: PaymentFilter & { readonly cursor?: string | undefined } = {},
    options?: CallOptions,
  ): Promise<PaymentPage> {
    return this.#get(`${API}/payments${queryOf(filter)}`, options);
  }

  /**
   * Yields the current cases of your loans that match the filter, in the order in which they were created. Loads page after
   * page, and misses and repeats none, also during an import. A case is as it was when its page was read. The time limits
   * of `options` apply to each page.
   */
  async *cases(filter: CaseFilter = {}, options?: CallOptions): AsyncGenerator<ListedCase, void, undefined> {
    const read = (cursor?: string) => this.listCases({ ...filter, cursor }, options);
    for await (const page of eachPage(read, (pauseMs) => pause(pauseMs, options?.signal))) yield* page.cases;
  }

  /** Returns one page of your current cases. `cursor` is the `nextCursor` of the previous page with the same filter. */
  listCases(
    filter: CaseFilter & { readonly cursor?: string | undefined } = {},
    options?: CallOptions,
  ): Promise<CasePage> {
    return this.#get(`${API}/cases${queryOf(filter)}`, options);
  }

  /**
   * Compares your payments of a window with the booked payments, and returns every difference. Changes no payment. A row
   * that cannot be compared is in `rejected`; the other rows are compared.
   */
  reconcile(request: ReconciliationRequest, options?: CallOptions): Promise<Reconciliation> {
    const times = { attemptTimeoutMs: RECONCILE_ATTEMPT_TIMEOUT_MS, ...options };
    return this.#post(`${API}/payments/reconcile`, bodyOfReconciliation(request), times);
  }

  /** Returns a stored reconciliation by its `runId`. It is kept for 90 days. */
  getReconciliation(runId: string, options?: CallOptions): Promise<Reconciliation> {
    return this.#get(`${API}/payments/reconcile/${segment(runId)}`, options);
  }

  /** Returns one page of your stored reconciliations, the latest first. `cursor` is the `nextCursor` of the previous page. */
  listReconciliations(
    { cursor }: { readonly cursor?: string | undefined } = {},
    options?: CallOptions,
  ): Promise<ReconciliationPage> {
    return this.#get(`${API}/payments/reconcile${queryOf({ cursor })}`, options);
  }

  /** Makes the service send a signed ping to your callback, and reports how it went. */
  testWebhook(options?: CallOptions): Promise<WebhookTest> {
    return this.#post(`${API}/webhooks/test`, undefined, options);
  }

  /**
   * Makes the service call your mint endpoint once, as for a link of a field partner, and reports how it went. The link
   * exists only on your side: cancel it.
   */
  testMintLink(test: MintToTest, options?: CallOptions): Promise<MintLinkTest> {
    return this.#post(`${API}/mint-link/test`, bodyOfMintTest(test), options);
  }

  /** Returns one page of your events with the state of their delivery. */
  listDeliveries(filter: DeliveryFilter = {}, options?: CallOptions): Promise<DeliveryPage> {
    return this.#get(`${DELIVERIES}${queryOf(filter)}`, options);
  }

  /** Yields all deliveries that match the filter. Loads page after page. */
  async *eachDelivery(filter: DeliveryFilter = {}, options?: CallOptions): AsyncGenerator<Delivery, void, undefined> {
    let page = await this.listDeliveries(filter, options);
    yield* page.deliveries;
    while (page.nextCursor !== null) {
      page = await this.listDeliveries({ ...filter, cursor: page.nextCursor }, options);
      yield* page.deliveries;
    }
  }

  /** Returns one event with its exact body and each attempt, including cause and remedy of failures. */
  getDelivery(eventId: string, options?: CallOptions): Promise<DeliveryDetails> {
    return this.#get(`${DELIVERIES}/${segment(eventId)}`, options);
  }

  /** Makes the service send one event again. */
  replayDelivery(eventId: string, options?: CallOptions): Promise<ReplayedDelivery> {
    return this.#post(`${DELIVERIES}/${segment(eventId)}/replay`, undefined, options);
  }

  /**
   * Makes the service send many events again, in the order in which they were created. By default, sends the parked
   * events.
   */
  async replayDeliveries(filter: ReplayFilter = {}, options: ReplayOptions = {}): Promise<StartedReplay> {
    const body = stringifyExact({ ...filter, ratePerSecond: options.ratePerSecond });
    const call = { method: "POST", path: `${DELIVERIES}/replay`, body } as const;
    return (await this.#call(call, options)).body as unknown as StartedReplay;
  }

  /** Counts the events that `replayDeliveries` would send. */
  countReplay(filter: ReplayFilter = {}, options?: CallOptions): Promise<CountedReplay> {
    return this.#post(`${DELIVERIES}/replay`, { ...filter, dryRun: true }, options);
  }

  /** Returns the progress of a replay. */
  getReplay(replayId: string, options?: CallOptions): Promise<Replay> {
    return this.#get(`${API}/webhooks/replays/${segment(replayId)}`, options);
  }

  /**
   * Finds the mistake in a wrong signature. The call itself is not signed, so this also works if your secret is wrong.
   */
  async debugSignature(request: RequestToDebug, options?: CallOptions): Promise<SignatureDiagnosis> {
    const body = stringifyExact(request);
    const call = { method: "POST", path: `${API}/debug/signature`, body, isSigned: false } as const;
    return (await this.#call(call, options)).body as unknown as SignatureDiagnosis;
  }

  /**
   * Creates a link with which a person of your staff signs in to the portal once, within five minutes. A retry of the call
   * gets the same link.
   */
  createPortalLink(person: PortalPerson = {}, options?: CallOptions): Promise<PortalLink> {
    return this.#post(`${API}/portal-links`, person, options);
  }

  /** Plays a scene on one of your loans, so that your receiver gets its events. Only a sandbox does this. */
  playScene(loan: string, scene: SandboxScene, options?: CallOptions): Promise<PlayedScene> {
    return this.#post(`${API}/sandbox/play`, { loan, scene }, options);
  }

  async #import(rows: readonly CaseRow[], options: ImportOptions, dryRun: boolean): Promise<CaseImport> {
    const body = { rows: rows.map(rowForRequest), dryRun, atomic: options.atomic ?? false };
    try {
      // Retries stop before the signature expires: the service would treat a retry with a new signature as another
      // import.
      const totalTimeoutMs = Math.min(options.totalTimeoutMs ?? Infinity, SIGNATURE_MAX_AGE_MS);
      const times = { attemptTimeoutMs: IMPORT_ATTEMPT_TIMEOUT_MS, ...options, totalTimeoutMs };
      const answer = await this.#post<CaseImport>(`${API}/cases`, body, times);
      for (const { warnings } of answer.results) this.#reportWarnings(warnings, `${API}/cases`);
      return answer;
    } catch (error) {
      if (error instanceof ProblemError && error.code === "IMPORT_REJECTED")
        throw new ImportRejectedError(error.problem);
      throw error;
    }
  }

  /** Returns the body of the answer as `Body`, the type that the contract defines. The body is not checked. */
  async #get<Body>(path: string, options?: CallOptions): Promise<Body> {
    return (await this.#call({ method: "GET", path }, options)).body as unknown as Body;
  }

  /** Serializes the body once, so that all attempts send the same bytes. */
  async #post<Body>(path: string, body: object | undefined, options?: CallOptions): Promise<Body> {
    const call: Call = { method: "POST", path, ...(body !== undefined && { body: stringifyExact(body) }) };
    return (await this.#call(call, options)).body as unknown as Body;
  }

  async #call(call: Call, options?: CallOptions): Promise<ServiceAnswer> {
    try {
      const answer = await this.#caller.call(call, options);
      this.#reportWarnings((answer.body as Partial<Answer>).warnings, call.path);
      this.#reportWarnings(deprecationOf(answer), call.path);
      return answer;
    } catch (error) {
      if (error instanceof ProblemError) this.#reportWarnings(error.warnings, call.path);
      throw error;
    }
  }

  #reportWarnings(warnings: readonly Warning[] | undefined, about: string): void {
    for (const warning of warnings ?? []) this.#onWarning?.(warning, about);
  }
}

function casePath(loan: string): string {
  return `${API}/cases/${segment(loan)}`;
}

/** Throws for a segment that HTTP clients would resolve as a relative path. */
function segment(text: string): string {
  if (text === "" || text === "." || text === ".." || !text.isWellFormed()) {
    throw new TypeError(
      `${JSON.stringify(text)} cannot be part of a path: expected an id other than "", "." and "..".`,
    );
  }
  return encodeURIComponent(text);
}

function queryOf(filter: object): string {
  const query = new URLSearchParams();
  // String() joins the elements of an array with commas, as the API expects a list.
  type Value = string | number | Date | readonly string[] | undefined;
  for (const [name, value] of Object.entries(filter) as [string, Value][]) {
    if (value !== undefined) query.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  return query.size === 0 ? "" : `?${query.toString()}`;
}

/** Returns a warning if the service announces the end of this API version. contract: Versions */
function deprecationOf({ headers }: ServiceAnswer): Warning[] {
  if (!headers.has("deprecation")) return [];
  const detail = `This version of the API is deprecated. It ends: ${headers.get("sunset") ?? "the date is not announced yet"}.`;
  return [{ code: "DEPRECATED", pointer: "", detail }];
}

function snapshotOf({ body, headers }: ServiceAnswer): CaseSnapshot {
  return { ...body, etag: headers.get("etag") ?? `"${String(body["sequence"])}"` } as unknown as CaseSnapshot;
}
