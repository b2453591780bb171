import { type Check, fail, type Finding, warn } from "./check.ts";
import { expectAcknowledged } from "./expectation.ts";
import type { DeskCall, PlannedList, PlannedPayment, SentRow } from "../stand-in/reconciliation-desk.ts";
import type { Settings } from "../stand-in/settings.ts";
import type { StandIn } from "../stand-in/stand-in.ts";

const MODE = "neft";
/** The day of the payments. It is over, so a program that reconciles only past days accepts it. */
const DAY = { from: "2026-01-14T18:30:00.000Z", to: "2026-01-15T18:30:00.000Z" };
const PAID_AT = "2026-01-15T06:30:00.000Z";

/** The checks, whose findings may repeat a secret that the lender has sent. */
const CHECKS: readonly Check[] = [
  {
    name: "reconcile.request",
    title: "All payments of the window are sent in one signed call",
    why: "A payment that you leave out is reported as only ours. A wrong amount or time is reported as a difference that does not exist.",
    skip: needs,
    async run(service) {
      const plan = planOf(service, ["matched", "matched", "matched"]);
      const faults = await reconcile(service, "a day with three payments", plan);
      if (faults.length > 0) return faults;
      return [...findingsOnRows(plan, deskOf(service).reconciliations.at(-1)!), ...wrongConfirmations(service, plan)];
    },
  },
  {
    name: "reconcile.missing",
    title: "A payment that is not booked is confirmed as it was captured",
    why: "Only your system knows the mode. With another reference, amount or time than the first attempt, a later repeat would not be recognized.",
    skip: needs,
    async run(service) {
      const plan = planOf(service, ["matched", "onlyYours"]);
      const faults = await reconcile(service, "a day with a payment that is not booked", plan);
      if (faults.length > 0) return faults;
      return [...findingsOnConfirmation(service, plan[1]!), ...wrongConfirmations(service, plan)];
    },
  },
  {
    name: "reconcile.doubtful",
    title: "Only payments in onlyYours are confirmed",
    why: "The payments of every other list are booked already, or a person has to look at them. A program that confirms them books money twice.",
    skip: needs,
    async run(service) {
      const plan = planOf(service, ["onlyYours", ...DOUBTFUL]);
      const faults = await reconcile(service, "a day with a payment in each list", plan);
      return faults.length > 0 ? faults : wrongConfirmations(service, plan);
    },
  },
  {
    name: "reconcile.busy",
    title: "A call that is answered with 429 is repeated",
    why: "One reconciliation of a lender runs at a time. If your program gives up at a 429, the day stays unreconciled.",
    skip: needs,
    async run(service) {
      const plan = planOf(service, ["matched"]);
      const faults = await reconcile(service, "a day while another reconciliation runs", plan, 1);
      if (faults.length > 0) return faults;
      const { length } = deskOf(service).reconciliations;
      return length > 1 ? [] : [fail("The call was answered 429 and was not sent again.", WAIT_AND_REPEAT)];
    },
  },
];

/** Checks the program that reconciles a day. contract: Reconciliation */
export const reconcileChecks: readonly Check[] = CHECKS.map((check) => ({
  ...check,
  run: async (service) =>
    (await check.run(service)).map((finding) => ({ ...finding, problem: service.mask(finding.problem) })),
}));

const DOUBTFUL: readonly PlannedList[] = [
  "unknownLoan",
  "referenceDiffers",
  "amountDiffers",
  "onOtherLoan",
  "otherDay",
  "outsideWindow",
  "reversed",
  "rejected",
];

function needs({ reconcile, servicePort }: Settings): string | null {
  if (reconcile === undefined) return "needs --reconcile";
  return servicePort === undefined ? "needs --service-port" : null;
}

function planOf(service: StandIn, lists: readonly PlannedList[]): PlannedPayment[] {
  return lists.map((list, index) => {
    const loan = service.newLoan();
    const { currency } = service.settings;
    return { loan, reference: `pay_of_${loan}`, amount: 200 + 2 * index, currency, paidAt: PAID_AT, mode: MODE, list };
  });
}

/** Has the lender reconcile a day. Reports a failure if it did not call the service with a valid signature. */
async function reconcile(
  service: StandIn,
  what: string,
  plan: readonly PlannedPayment[],
  busy = 0,
): Promise<Finding[]> {
  const desk = deskOf(service);
  desk.begin(plan, busy);
  const payments = plan.map(({ loan, reference, amount, paidAt, mode }) => ({ loan, reference, amount, paidAt, mode }));
  const answer = expectAcknowledged(await service.reconcile(what, { ...DAY, payments }), ANSWER_AT_THE_END);
  const fault = [...desk.reconciliations, ...desk.confirmations].find((call) => call.fault !== null)?.fault;
  if (fault !== undefined) return [fail(`A call was rejected: ${fault}`, SIGN_CALLS)];
  if (answer.length > 0) return answer;
  return desk.reconciliations.length > 0 ? [] : [fail("No reconciliation was sent.", CALL_THE_KIT)];
}

function deskOf({ cases }: StandIn): NonNullable<StandIn["cases"]>["desk"] {
  if (cases === null) throw new TypeError("The checks of reconciliations need --service-port.");
  return cases.desk;
}

function findingsOnRows(plan: readonly PlannedPayment[], { body }: DeskCall): Finding[] {
  const window = (["from", "to"] as const).filter((name) => !isSameTime(body?.[name], DAY[name]));
  const rows = Array.isArray(body?.["rows"]) ? (body["rows"] as SentRow[]) : [];
  return [
    ...window.map((name) => fail(`"${name}" was ${text(body?.[name])} instead of ${DAY[name]}.`, SEND_THE_WINDOW)),
    ...plan.flatMap((payment) => {
      const row = rows.find(({ loan, reference }) => loan === payment.loan && reference === payment.reference);
      return row ? findingsOnRow(payment, row) : [fail(`The payment ${payment.reference} was not sent.`, SEND_ALL)];
    }),
  ];
}

function findingsOnRow({ reference, amount, paidAt }: PlannedPayment, row: SentRow): Finding[] {
  const wrong = (name: string, sent: unknown, right: unknown) =>
    fail(`The row of ${reference} had ${name} ${text(sent)} instead of ${text(right)}.`, SEND_AS_CAPTURED);
  if (row.amount !== amount) return [wrong("amount", row.amount, amount)];
  if (row.paidAt === undefined || row.paidAt === null)
    return [warn(`The row of ${reference} had no paidAt.`, SEND_TIME)];
  return isSameTime(row.paidAt, paidAt) ? [] : [wrong("paidAt", row.paidAt, paidAt)];
}

function findingsOnConfirmation(
  service: StandIn,
  { loan, reference, amount, paidAt, mode }: PlannedPayment,
): Finding[] {
  const call = deskOf(service).confirmations.find(({ body }) => body?.["reference"] === reference);
  if (!call) return [fail(`The payment ${reference} of onlyYours was not confirmed.`, CONFIRM_MISSING)];
  const { body } = call;
  if (call.loan !== loan) return [fail(`${reference} was confirmed for ${call.loan} instead of ${loan}.`, UNCHANGED)];
  if (body?.["amount"] !== amount) {
    return [fail(`${reference} was confirmed with amount ${text(body?.["amount"])} instead of ${amount}.`, UNCHANGED)];
  }
  if (!isSameTime(body["paidAt"], paidAt)) {
    return [fail(`${reference} was confirmed with paidAt ${text(body["paidAt"])} instead of ${paidAt}.`, UNCHANGED)];
  }
  return body["mode"] === mode ? [] : [warn(`${reference} was confirmed with mode ${text(body["mode"])}.`, OWN_MODE)];
}

function wrongConfirmations(service: StandIn, plan: readonly PlannedPayment[]): Finding[] {
  return deskOf(service).confirmations.flatMap(({ loan, body }) => {
    const payment = plan.find((one) => one.loan === loan);
    if (payment?.list === "onlyYours" && body?.["reference"] === payment.reference) return [];
    const list = payment === undefined ? "no list" : LIST_NAMES[payment.list];
    return [
      fail(`${text(body?.["reference"])} of ${String(loan)} was confirmed, which is in ${list}.`, CONFIRM_ONLY_YOURS),
    ];
  });
}

const LIST_NAMES: Readonly<Record<PlannedList, string>> = {
  matched: "no list, because it is booked",
  onlyYours: "onlyYours under another reference",
  unknownLoan: "onlyYours with confirm null",
  referenceDiffers: "referenceDiffers",
  amountDiffers: "amountDiffers",
  onOtherLoan: "onOtherLoan",
  otherDay: "otherDay",
  outsideWindow: "outsideWindow",
  reversed: "reversed",
  rejected: "rejected",
};

function isSameTime(sent: unknown, right: string): boolean {
  return typeof sent === "string" && Date.parse(sent) === Date.parse(right);
}

/** A value from the lender, as JSON. */
function text(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value).slice(0, 80);
}

const CALL_THE_KIT =
  "When the URL of --reconcile is called, reconcile the payments of its body. For this test, set http://127.0.0.1 with the port of --service-port as the service's base URL in your program.";
const ANSWER_AT_THE_END =
  "Answer 2xx when your program has reconciled the payments of the body and confirmed what is missing.";
const SIGN_CALLS =
  "Sign the call as described in the contract's section Authentication: METHOD, PATH with the loan percent-encoded as sent, timestamp, and the bytes of the body.";
const SEND_THE_WINDOW = "Send the window unchanged. `from` is included and `to` is not.";
const SEND_ALL = "Send every captured payment of the window in one call, whether or not you have confirmed it.";
const SEND_AS_CAPTURED =
  "Send the amount in major units as a JSON number, and the time of the capture, exactly as you confirm them.";
const SEND_TIME =
  "Send paidAt with each row: without it, payments on the wrong day are not found, and the payment cannot be confirmed from the answer.";
const CONFIRM_MISSING = "Send the confirm call of each entry of onlyYours whose confirm is not null.";
const UNCHANGED = "Confirm the payment with your own loan, reference, amount and time, as in the first attempt.";
const OWN_MODE = "Replace the mode `other` of the confirm call by the mode with which the payment was captured.";
const CONFIRM_ONLY_YOURS =
  "Confirm only the entries of onlyYours whose confirm is not null. Show the other lists to a person.";
const WAIT_AND_REPEAT = "Send the same bytes again after the number of seconds in Retry-After.";
