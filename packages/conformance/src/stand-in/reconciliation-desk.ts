import { createHash, randomUUID } from "node:crypto";

/** The list of the answer in which a payment stands. `unknownLoan` is in `onlyYours` without a `confirm` call. */
export type PlannedList =
  | "matched"
  | "onlyYours"
  | "unknownLoan"
  | "referenceDiffers"
  | "amountDiffers"
  | "onOtherLoan"
  | "otherDay"
  | "outsideWindow"
  | "reversed"
  | "rejected";

/** A payment that the lender has captured, and the list in which the answer has it. */
export interface PlannedPayment {
  readonly loan: string;
  readonly reference: string;
  /** Major units. */
  readonly amount: number;
  readonly currency: string;
  readonly paidAt: string;
  readonly mode: string;
  readonly list: PlannedList;
}

/** A row of the lender's call. Fields are compared only if the lender has sent them. */
export interface SentRow {
  readonly loan?: unknown;
  readonly reference?: unknown;
  readonly amount?: unknown;
  readonly paidAt?: unknown;
}

/** A call of the lender. `fault` is the reason why it was rejected, or null. `body` is null if it is not a JSON object. */
export interface DeskCall {
  readonly fault: string | null;
  readonly loan: string | null;
  readonly body: Readonly<Record<string, unknown>> | null;
}

/** An answer of the desk. */
export interface DeskAnswer {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

const PATH = /^\/api\/v1\/partner\/(?:payments\/reconcile|cases\/([^/]+)\/payments\/confirm)$/;
const RUN_PATH = /^\/api\/v1\/partner\/payments\/reconcile\/[^/]+$/;
const BUSY = "Another reconciliation of this lender is running.";

/**
 * Answers reconciliations and confirmations in place of the service. A payment in `onlyYours` matches as soon as it was
 * confirmed. contract: Reconciliation
 */
export class ReconciliationDesk {
  reconciliations: DeskCall[] = [];
  confirmations: DeskCall[] = [];
  #plan: readonly PlannedPayment[] = [];
  #busy = 0;
  #last: object | undefined;

  /** Forgets earlier calls. The first `busy` reconciliations are answered 429. */
  begin(plan: readonly PlannedPayment[], busy = 0): void {
    [this.#plan, this.#busy, this.#last] = [plan, busy, undefined];
    [this.reconciliations, this.confirmations] = [[], []];
  }

  /** Returns whether the desk answers this call. */
  serves(method: string, path: string): boolean {
    return method === "POST" ? PATH.test(path) : method === "GET" && RUN_PATH.test(path);
  }

  answer({
    method,
    path,
    text,
    fault,
  }: Record<"method" | "path" | "text", string> & Pick<DeskCall, "fault">): DeskAnswer {
    const loan = loanIn(path);
    const body = objectIn(text);
    const call = { fault, loan, body };
    if (method === "POST") (loan === null ? this.reconciliations : this.confirmations).push(call);
    if (fault !== null) return problem(401, "BAD_SIGNATURE", fault);
    if (method === "GET") {
      return this.#last ? { status: 200, body: this.#last } : problem(404, "RECONCILIATION_NOT_FOUND", "No run yet.");
    }
    if (body === null) return problem(400, "MALFORMED_JSON", "The body is not a JSON object.");
    return loan === null ? this.#compare(body) : this.#confirm(loan, body);
  }

  #compare(body: Readonly<Record<string, unknown>>): DeskAnswer {
    if (this.#busy > 0) {
      this.#busy -= 1;
      return { ...problem(429, "RATE_LIMITED", BUSY, true), headers: { "Retry-After": "1" } };
    }
    const rows = Array.isArray(body["rows"]) ? (body["rows"] as SentRow[]) : [];
    this.#last = answerTo(body, this.#plan, rows, (payment) => this.#isConfirmed(payment));
    return { status: 200, body: this.#last };
  }

  #confirm(loan: string, body: Readonly<Record<string, unknown>>): DeskAnswer {
    const { amount = 0, reference = "" } = body;
    const totals = { outstandingAfter: 0, status: "in_progress", sequence: 2, totalCollected: amount };
    const rest = { excessAmount: 0, inBalance: 0, attribution: "none", warnings: [], partOf: null };
    const recordedAt = new Date().toISOString();
    return { status: 200, body: { success: true, caseId: caseIdOf(loan), reference, ...totals, ...rest, recordedAt } };
  }

  #isConfirmed({ loan, reference }: PlannedPayment): boolean {
    return this.confirmations.some((call) => call.loan === loan && call.body?.["reference"] === reference);
  }
}

const NO_LISTS = {
  onlyYours: [],
  onlyOurs: [],
  referenceDiffers: [],
  amountDiffers: [],
  onOtherLoan: [],
  otherDay: [],
  outsideWindow: [],
  reversed: [],
  rejected: [],
};

function answerTo(
  { from, to }: Readonly<Record<string, unknown>>,
  plan: readonly PlannedPayment[],
  rows: readonly SentRow[],
  isConfirmed: (payment: PlannedPayment) => boolean,
): object {
  const found = plan.flatMap((payment) => {
    const index = rows.findIndex(({ loan, reference }) => loan === payment.loan && reference === payment.reference);
    const list = payment.list === "onlyYours" && isConfirmed(payment) ? "matched" : payment.list;
    return index === -1 ? [] : [{ payment, index, list: list === "unknownLoan" ? ("onlyYours" as const) : list }];
  });
  const entries = found.flatMap(({ payment, index, list }) =>
    list === "matched" ? [] : [{ list, entry: entryOf(payment, index) }],
  );
  const lists = Object.fromEntries(
    Object.keys(NO_LISTS).map((name) => [name, entries.flatMap(({ list, entry }) => (list === name ? [entry] : []))]),
  );
  const counts = Object.fromEntries(Object.entries(lists).map(([name, { length }]) => [name, length]));
  return {
    success: true,
    runId: `rec_${randomUUID().replaceAll("-", "")}`,
    from,
    to,
    startedAt: new Date().toISOString(),
    requestedBy: "lk_conformance",
    clean: entries.length === 0,
    counts: { matched: found.length - entries.length, ...counts },
    yours: sumOf(found.map(({ payment }) => payment)),
    ours: sumOf(found.flatMap(({ payment, list }) => (list === "matched" ? [payment] : []))),
    ...lists,
    previous: null,
  };
}

function entryOf(payment: PlannedPayment, index: number): object {
  const { loan, reference, amount, currency, paidAt, list } = payment;
  const yours = { index, amount, currency, paidAt };
  const booked = { loan, reference, amount, reversedAmount: 0, currency, paidAt };
  const path = `/api/v1/partner/cases/${encodeURIComponent(loan)}/payments/confirm`;
  switch (list) {
    case "onlyYours": {
      const confirm = { method: "POST", path, body: { amount, reference, paidAt, mode: "other" } };
      return { loan, reference, yours, confirm };
    }
    case "unknownLoan":
      return { loan, reference, yours, confirm: null };
    case "otherDay":
    case "outsideWindow":
      return { loan, reference, yours, ours: null };
    case "rejected": {
      const errors = [{ code: "PARTS_NOT_CLEAR", pointer: `/rows/${index}/amount`, detail: "Several rows differ." }];
      return { index, loan, reference, errors };
    }
    case "referenceDiffers":
      return { loan, reference, yours, ours: { ...booked, reference: `00${reference}` } };
    case "amountDiffers":
      return { loan, reference, yours, ours: { ...booked, amount: amount / 2 } };
    case "onOtherLoan":
      return { loan, reference, yours, ours: { ...booked, loan: `${loan}-other` } };
    default:
      return { loan, reference, yours, ours: { ...booked, reversedAmount: amount } };
  }
}

function sumOf(payments: readonly PlannedPayment[]): object[] {
  const amount = payments.reduce((sum, one) => sum + one.amount, 0);
  return payments.slice(0, 1).map(({ currency }) => ({ currency, count: payments.length, amount }));
}

function problem(status: number, code: string, detail: string, retryable = false): DeskAnswer {
  return { status, body: { status, title: detail, detail, success: false, code, retryable } };
}

function loanIn(path: string): string | null {
  const segment = PATH.exec(path)?.[1];
  try {
    return segment === undefined ? null : decodeURIComponent(segment);
  } catch {
    return null;
  }
}

function objectIn(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : null;
  } catch {
    return null;
  }
}

function caseIdOf(loan: string): string {
  return `case_${createHash("sha256").update(loan).digest("hex").slice(0, 32)}`;
}
