import { randomUUID } from "node:crypto";

/** Leaves an argument or an input field out. */
export const LEFT_OUT = Symbol("left out");
/** Puts an input object together from the values of its fields. */
export const BUILT = Symbol("built");

/** What operations name: somebody's own things, or nobody's. Ids are global ones where the schema has such. */
export interface Names {
  readonly cases: readonly string[];
  readonly links: readonly string[];
  /** One of each type that has a global id, and more. */
  readonly nodes: readonly string[];
  readonly sessionId: string;
  /** A case that may be worked on. */
  readonly workableCase: string;
  /** For a visit that is to begin. */
  readonly newVisitId: string;
  /** A visit that has begun and not ended. */
  readonly openVisitId: string;
  readonly liveLink: string;
  readonly phone: string;
  readonly otp: { readonly otpId: string; readonly code: string };
  readonly refreshToken: string;
  /** A refresh token by which a device is known that asks for a code; none is sent without it. */
  readonly deviceToken?: string;
  readonly lenderCode: string;
  readonly cursors: {
    readonly cases: string;
    readonly earningLines: string;
    readonly visits: string;
    readonly sync: string;
  };
}

/** So much of the owner's is found by searching for it. */
export const PLACE = { latitude: 18.5204, longitude: 73.8567 };
export const CITY = "Leakpur";
export const POSTAL_CODE = "411001";
export const BUCKET = "LEAK-BUCKET";
export const PROMISED = { minor: "1911919", dueOn: "2027-01-15" };
export const LINK_MINOR = "1311717";

/** More than any case owes, and no less: what is refused may tell why. */
const TOO_MUCH = "999999999";

/**
 * Values for every argument and input field of the schema, by its place or by its name and type; where there are several,
 * each is in a variant of the operation. Whatever names something of a field partner's takes it from `Names`.
 */
export const VALUES: Readonly<Record<string, (names: Names) => readonly unknown[]>> = {
  "idempotencyKey: UUID": () => [randomUUID()],
  "occurredAt: DateTime": () => [new Date().toISOString()],
  "first: Int": () => [3],
  "locale: String": () => [LEFT_OUT],
  "channels: Channel": () => [LEFT_OUT],
  "currency: CurrencyCode": () => ["INR"],
  "latitude: Float": () => [PLACE.latitude],
  "longitude: Float": () => [PLACE.longitude],

  "Query.node.id": ({ nodes }) => nodes,
  "Query.nodes.ids": ({ nodes }) => nodes.map((id, place) => [id, nodes[(place + 1) % nodes.length]]),
  "Query.case.id": ({ cases }) => cases,
  "Case.estimatedEarning.amount": () => [LEFT_OUT],
  "Case.visits.after": ({ cursors }) => [LEFT_OUT, cursors.visits],

  "Query.cases.filter": () => [LEFT_OUT, LEFT_OUT, LEFT_OUT, BUILT, LEFT_OUT],
  "CaseFilter.status": () => [["ASSIGNED", "IN_PROGRESS"]],
  "CaseFilter.bucket": () => [[BUCKET]],
  "CaseFilter.lender": ({ lenderCode }) => [[lenderCode]],
  "CaseFilter.city": () => [[CITY]],
  "CaseFilter.postalCode": () => [[POSTAL_CODE]],
  "CaseFilter.workable": () => [true],
  "DayRangeInput.from": () => [PROMISED.dueOn],
  "DayRangeInput.to": () => [PROMISED.dueOn],
  "Query.cases.search": () => [LEFT_OUT, "leak", "QX7A", LEFT_OUT, LEFT_OUT],
  "Query.cases.sort": () => ["PRIORITY", "DAYS_PAST_DUE", "AMOUNT", "NEAR_ME", "PRIORITY"],
  "Query.cases.after": ({ cursors }) => [LEFT_OUT, LEFT_OUT, LEFT_OUT, LEFT_OUT, cursors.cases],
  "NearInput.radiusM": () => [LEFT_OUT],
  "Query.earningLines.after": ({ cursors }) => [LEFT_OUT, cursors.earningLines],
  "Query.earnings.period": () => ["TODAY", "THIS_WEEK", "THIS_MONTH"],
  "Query.sync.first": () => [2],
  "Query.sync.since": ({ cursors }) => [LEFT_OUT, cursors.sync],
  "Query.paymentLink.id": ({ links }) => links,
  "Subscription.paymentLinkUpdated.id": ({ links }) => links,

  "RequestOtpInput.phone": ({ phone }) => [phone],
  "RequestOtpInput.refreshToken": ({ deviceToken }) => [deviceToken ?? LEFT_OUT],
  "VerifyOtpInput.otpId": ({ otp }) => [otp.otpId],
  "VerifyOtpInput.code": ({ otp }) => [otp.code],
  "VerifyOtpInput.deviceName": () => ["a phone"],
  "RefreshSessionInput.refreshToken": ({ refreshToken }) => [refreshToken],
  "EndSessionInput.sessionId": ({ sessionId }) => [sessionId],

  "StartVisitInput.caseId": ({ workableCase }) => [workableCase],
  "StartVisitInput.visitId": ({ newVisitId }) => [newVisitId],
  "StartVisitInput.accuracyM": () => [12],
  "CompleteVisitInput.visitId": ({ openVisitId }) => [openVisitId],
  "CompleteVisitInput.disposition": () => ["PROMISE_TO_PAY"],
  "CompleteVisitInput.note": () => ["a note"],
  "PromiseInput.amount": () => [{ minor: PROMISED.minor, currency: "INR" }],
  "PromiseInput.dueOn": () => [PROMISED.dueOn],
  "RequestPaymentLinkInput.visitId": ({ openVisitId }) => [openVisitId],
  "RequestPaymentLinkInput.amount": () => [LINK_MINOR, TOO_MUCH].map((minor) => ({ minor, currency: "INR" })),
  "ResendPaymentLinkInput.paymentLinkId": ({ liveLink }) => [liveLink],
  "RevealContactInput.caseId": ({ workableCase }) => [workableCase],
};
