import type { Answer, Health, Warning } from "./answer.ts";
import { ProblemError } from "./call-error.ts";
import { type CaseImport, type CaseRow, ImportRejectedError, rowOnTheWire } from "./case-import.ts";
import type { CaseSnapshot } from "./case-snapshot.ts";
import { stringifyExact } from "./exact-json.ts";
import { type Booking, type CapturedPayment, paymentOnTheWire, repeatedBooking } from "./payment-confirmation.ts";
import type { ServiceAnswer } from "./service-answer.ts";
import type { RequestToDebug, SignatureDiagnosis } from "./signature-diagnosis.ts";
import { type Call, type CallerOptions, type CallOptions, SIGNATURE_MAX_AGE_MS, SignedCaller } from "./signed-call.ts";
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
/** An import may take longer than anything else: 1,000 rows in 5 MiB. */
const IMPORT_ATTEMPT_TIMEOUT_MS = 60_000;

/** What a client is made of. */
export interface ClientOptions extends CallerOptions {
  /** Called for every warning in an answer, those of rows included; `about` is the path that was called. */
  readonly onWarning?: (warning: Warning, about: string) => void;
}

/** How to import. */
export interface ImportOptions extends CallOptions {
  /** One rejected row, and none is applied: throws ImportRejectedError then. */
  readonly atomic?: boolean;
}

/** How to replay. */
export interface ReplayOptions extends CallOptions {
  /** 1 to 1,000; 50 unless told. */
  readonly ratePerSecond?: number;
}

/**
 * Everything that a lender may ask of the service (contract: Partner endpoints). Calls are signed, and repeated with
 * the same bytes where that may help; amounts are text. Methods throw a CollectionsError, or what `signal` says.
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

  /** Who you are, if the signature is right. */
  health(options?: CallOptions): Promise<Health> {
    return this.#get(`${API}/health`, options);
  }

  /**
   * Imports up to 1,000 rows. Rejected rows are in `results`, and `success` is false then; the others are applied.
   * All attempts are one import, in 2.5 minutes at most. Called again it is another one, whose balances replace what
   * was paid since: give rows an `outstandingAsOf`.
   */
  importCases(rows: readonly CaseRow[], options: ImportOptions = {}): Promise<CaseImport> {
    return this.#import(rows, options, false);
  }

  /** Says what an import would do, and does nothing. */
  rehearseImport(rows: readonly CaseRow[], options: ImportOptions = {}): Promise<CaseImport> {
    return this.#import(rows, options, true);
  }

  /** The loan's current case. */
  async getCase(loan: string, options?: CallOptions): Promise<CaseSnapshot> {
    return snapshotOf(await this.#call({ method: "GET", path: casePath(loan) }, options));
  }

  /** The loan's current case, or undefined when it still is the one with this `etag`. */
  async getCaseIfChanged(loan: string, etag: string, options?: CallOptions): Promise<CaseSnapshot | undefined> {
    const headers = { "If-None-Match": etag };
    const answer = await this.#call({ method: "GET", path: casePath(loan), headers }, options);
    return answer.status === 304 ? undefined : snapshotOf(answer);
  }

  /**
   * Confirms a captured payment, exactly once: call it again with the same arguments until it resolves. `repeated` says
   * that it had been booked before. Throws ReferenceConflictError when the reference is booked for something else.
   */
  async confirmPayment(loan: string, payment: CapturedPayment, options?: CallOptions): Promise<Booking> {
    const path = `${casePath(loan)}/payments/confirm`;
    try {
      const booking = await this.#post<Booking>(path, paymentOnTheWire(payment), options);
      return { ...booking, repeated: false };
    } catch (error) {
      if (error instanceof ProblemError && error.code === "DUPLICATE_CONFIRMATION") return repeatedBooking(error);
      throw error;
    }
  }

  /** Has a signed ping sent to your callback, and says how it went. */
  testWebhook(options?: CallOptions): Promise<WebhookTest> {
    return this.#post(`${API}/webhooks/test`, undefined, options);
  }

  /** A page of your events and how their delivery stands. */
  listDeliveries(filter: DeliveryFilter = {}, options?: CallOptions): Promise<DeliveryPage> {
    return this.#get(`${DELIVERIES}${queryOf(filter)}`, options);
  }

  /** All of them, page by page. */
  async *eachDelivery(filter: DeliveryFilter = {}, options?: CallOptions): AsyncGenerator<Delivery, void, undefined> {
    let page = await this.listDeliveries(filter, options);
    yield* page.deliveries;
    while (page.nextCursor !== null) {
      page = await this.listDeliveries({ ...filter, cursor: page.nextCursor }, options);
      yield* page.deliveries;
    }
  }

  /** One event with its exact body and each attempt, with cause and remedy. */
  getDelivery(eventId: string, options?: CallOptions): Promise<DeliveryDetails> {
    return this.#get(`${DELIVERIES}/${segment(eventId)}`, options);
  }

  /** Has one event sent again. */
  replayDelivery(eventId: string, options?: CallOptions): Promise<ReplayedDelivery> {
    return this.#post(`${DELIVERIES}/${segment(eventId)}/replay`, undefined, options);
  }

  /** Has many events sent again, in the order of their making: those that are parked, unless told. */
  async replayDeliveries(filter: ReplayFilter = {}, options: ReplayOptions = {}): Promise<StartedReplay> {
    const body = stringifyExact({ ...filter, ratePerSecond: options.ratePerSecond });
    const call = { method: "POST", path: `${DELIVERIES}/replay`, body } as const;
    return (await this.#call(call, options)).body as unknown as StartedReplay;
  }

  /** How many events `replayDeliveries` would send. */
  countReplay(filter: ReplayFilter = {}, options?: CallOptions): Promise<CountedReplay> {
    return this.#post(`${DELIVERIES}/replay`, { ...filter, dryRun: true }, options);
  }

  /** How far a replay has come. */
  getReplay(replayId: string, options?: CallOptions): Promise<Replay> {
    return this.#get(`${API}/webhooks/replays/${segment(replayId)}`, options);
  }

  /** Which mistake made a wrong signature. Not signed itself: a wrong secret is found too. */
  async debugSignature(request: RequestToDebug, options?: CallOptions): Promise<SignatureDiagnosis> {
    const body = stringifyExact(request);
    const call = { method: "POST", path: `${API}/debug/signature`, body, isSigned: false } as const;
    return (await this.#call(call, options)).body as unknown as SignatureDiagnosis;
  }

  async #import(rows: readonly CaseRow[], options: ImportOptions, dryRun: boolean): Promise<CaseImport> {
    const body = { rows: rows.map(rowOnTheWire), dryRun, atomic: options.atomic ?? false };
    try {
      // Signed anew, the same rows would be another import.
      const totalTimeoutMs = Math.min(options.totalTimeoutMs ?? Infinity, SIGNATURE_MAX_AGE_MS);
      const times = { attemptTimeoutMs: IMPORT_ATTEMPT_TIMEOUT_MS, ...options, totalTimeoutMs };
      const answer = await this.#post<CaseImport>(`${API}/cases`, body, times);
      for (const { warnings } of answer.results) this.#tell(warnings, `${API}/cases`);
      return answer;
    } catch (error) {
      if (error instanceof ProblemError && error.code === "IMPORT_REJECTED")
        throw new ImportRejectedError(error.problem);
      throw error;
    }
  }

  /** The contract says what an answer has; here it gets its type. */
  async #get<Body>(path: string, options?: CallOptions): Promise<Body> {
    return (await this.#call({ method: "GET", path }, options)).body as unknown as Body;
  }

  /** The body becomes bytes here, once for all attempts. */
  async #post<Body>(path: string, body: object | undefined, options?: CallOptions): Promise<Body> {
    const call: Call = { method: "POST", path, ...(body !== undefined && { body: stringifyExact(body) }) };
    return (await this.#call(call, options)).body as unknown as Body;
  }

  async #call(call: Call, options?: CallOptions): Promise<ServiceAnswer> {
    try {
      const answer = await this.#caller.call(call, options);
      this.#tell((answer.body as Partial<Answer>).warnings, call.path);
      this.#tell(deprecationOf(answer), call.path);
      return answer;
    } catch (error) {
      if (error instanceof ProblemError) this.#tell(error.warnings, call.path);
      throw error;
    }
  }

  #tell(warnings: readonly Warning[] | undefined, about: string): void {
    for (const warning of warnings ?? []) this.#onWarning?.(warning, about);
  }
}

function casePath(loan: string): string {
  return `${API}/cases/${segment(loan)}`;
}

/** What HTTP clients would resolve as a relative path cannot stand in one. */
function segment(text: string): string {
  if (text === "" || text === "." || text === ".." || !text.isWellFormed()) {
    throw new TypeError(`${JSON.stringify(text)} cannot be part of a path.`);
  }
  return encodeURIComponent(text);
}

function queryOf(filter: object): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filter) as [string, string | number | Date | undefined][]) {
    if (value !== undefined) query.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  return query.size === 0 ? "" : `?${query.toString()}`;
}

/** The path's version has an end. contract: Versions */
function deprecationOf({ headers }: ServiceAnswer): Warning[] {
  if (!headers.has("deprecation")) return [];
  const detail = `This version of the API ends: ${headers.get("sunset") ?? "the date is not told yet"}.`;
  return [{ code: "DEPRECATED", pointer: "", detail }];
}

function snapshotOf({ body, headers }: ServiceAnswer): CaseSnapshot {
  return { ...body, etag: headers.get("etag") ?? `"${String(body["sequence"])}"` } as unknown as CaseSnapshot;
}
