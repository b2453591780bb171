// All requests of the app to the API. A test validates each against the schema.
import type {
  CaseAnswer,
  CasesAnswer,
  Contact,
  Earnings,
  EstimateAnswer,
  LinesAnswer,
  MeAnswer,
  PaymentLink,
  Result,
  Session,
  TodayAnswer,
  Tokens,
} from "./answers.ts";

/**
 * The text of an operation. `Data` is the type of the operation's answer. The property `answer` exists only in the
 * type, to carry `Data`: it is never set.
 */
export type Operation<Data> = string & { readonly answer?: Data };

interface MutationAnswer<Payload> {
  readonly result: Result<Payload>;
}

const CASE_ROW = `id loanTail status workable blockedReason dpd bucket isShrunk distanceM
  outstanding { display(locale: $locale) }
  borrower { displayName address }
  lender { name code }
  openPromise { amount { display(locale: $locale) } dueOn }
  activeLink { id status }`;

const MONEY = "minor currency decimal display(locale: $locale)";
const FALLBACK = "upiUri qrSvg instructions bankAccount { accountNumber accountName bankName ifsc swift }";
const REVERSAL = `amount { ${MONEY} } payment { ${MONEY} } reason`;
const LINK = `id status url unavailableReason paidAt reversedAt
  amount { ${MONEY} }
  deliveries { channel status failureCode }
  fallback { ${FALLBACK} }`;
const TOKENS = "tokens { accessToken refreshToken }";
const REFUSED = "__typename ... on UserError { code message }";
/**
 * For a mutation that arrived before the start of its visit: whether the service has queued the mutation, to process it
 * when the start arrives.
 */
const HELD = "... on VisitNotFound { isHeld }";

export const WHO_AM_I: Operation<{ readonly viewer: { readonly id: string; readonly displayName: string } }> =
  `query WhoAmI { viewer { id displayName } }`;

export const TODAY: Operation<TodayAnswer> = `query Today($locale: String) {
  viewer {
    displayName
    today { visits collected { display(locale: $locale) } earned { display(locale: $locale) } }
  }
  cases(filter: { workable: true }, first: 10) { edges { node { ${CASE_ROW} } } }
}`;

export const CASES: Operation<CasesAnswer> = `query Cases(
  $filter: CaseFilter, $search: String, $sort: CaseSort, $near: NearInput, $after: String, $locale: String
) {
  cases(filter: $filter, search: $search, sort: $sort, near: $near, first: 20, after: $after) {
    edges { node { ${CASE_ROW} } }
    pageInfo { hasNextPage endCursor }
  }
}`;

export const ONE_CASE: Operation<CaseAnswer> = `query OneCase($id: ID!, $locale: String) {
  case(id: $id) {
    id loanTail status workable blockedReason dpd isShrunk
    outstanding { ${MONEY} }
    minimum { ${MONEY} }
    totalCollected { ${MONEY} }
    borrower { displayName address maskedPhone }
    lender { name code }
    openPromise { amount { display(locale: $locale) } dueOn }
    activeLink { id status }
    estimatedEarning { amount { display(locale: $locale) } formula }
    earnings { amount { ${MONEY} } status formula reference reversal { reversalReference } payout { paidOn } }
    reversals { reversalReference reference reversedAt ${REVERSAL} }
    visits(first: 10) { edges { node { visitId startedAt completedAt disposition note isMine } } }
    fallback { ${FALLBACK} }
  }
}`;

export const ESTIMATE: Operation<EstimateAnswer> = `query Estimate($id: ID!, $amount: MoneyInput, $locale: String) {
  case(id: $id) { estimatedEarning(amount: $amount) { amount { display(locale: $locale) } formula } }
}`;

export const ONE_LINK: Operation<{ readonly paymentLink: PaymentLink | null }> =
  `query OneLink($id: ID!, $locale: String) { paymentLink(id: $id) { ${LINK} } }`;

export const WATCH_LINK: Operation<{ readonly paymentLinkUpdated: PaymentLink }> =
  `subscription WatchLink($id: ID!, $locale: String) { paymentLinkUpdated(id: $id) { ${LINK} } }`;

export const EARNINGS: Operation<{ readonly earnings: Earnings }> = `query Earnings($period: Period!, $locale: String) {
  earnings(period: $period) {
    earned { display(locale: $locale) }
    pending { display(locale: $locale) }
    credited { display(locale: $locale) }
    paidOut { display(locale: $locale) }
    deducted { ${MONEY} }
  }
}`;

export const EARNING_LINES: Operation<LinesAnswer> = `query EarningLines($after: String, $locale: String) {
  earningLines(first: 20, after: $after) {
    edges { node {
      id amount { ${MONEY} } status formula earnedAt payout { reference paidOn } reversal { ${REVERSAL} }
    } }
    pageInfo { hasNextPage endCursor }
  }
}`;

const SESSION = "id deviceName startedAt refreshedAt isCurrent";

export const ME: Operation<MeAnswer> = `query Me { viewer { displayName timeZone } sessions { ${SESSION} } }`;

export const REQUEST_OTP: Operation<MutationAnswer<{ readonly otpId: string }>> =
  `mutation RequestOtp($input: RequestOtpInput!) {
  result: requestOtp(input: $input) { ${REFUSED} ... on RequestOtpPayload { otpId } }
}`;

export const VERIFY_OTP: Operation<MutationAnswer<{ readonly tokens: Tokens }>> =
  `mutation VerifyOtp($input: VerifyOtpInput!) {
  result: verifyOtp(input: $input) { ${REFUSED} ... on VerifyOtpPayload { ${TOKENS} } }
}`;

export const REFRESH_SESSION: Operation<MutationAnswer<{ readonly tokens: Tokens }>> =
  `mutation RefreshSession($input: RefreshSessionInput!) {
  result: refreshSession(input: $input) { ${REFUSED} ... on RefreshSessionPayload { ${TOKENS} } }
}`;

export const SIGN_OUT: Operation<MutationAnswer<object>> =
  `mutation SignOut($input: SignOutInput!) { result: signOut(input: $input) { ${REFUSED} } }`;

export const END_SESSION: Operation<MutationAnswer<{ readonly sessions: readonly Session[] }>> =
  `mutation EndSession($input: EndSessionInput!) {
  result: endSession(input: $input) { ${REFUSED} ... on EndSessionPayload { sessions { ${SESSION} } } }
}`;

export const REVEAL_CONTACT: Operation<MutationAnswer<{ readonly contact: Contact }>> =
  `mutation RevealContact($input: RevealContactInput!) {
  result: revealContact(input: $input) {
    ${REFUSED} ... on RevealContactPayload { contact { phone alternatePhones email } }
  }
}`;

export const RESEND_LINK: Operation<MutationAnswer<object>> =
  `mutation ResendLink($input: ResendPaymentLinkInput!, $locale: String) {
  result: resendPaymentLink(input: $input) { ${REFUSED} ... on ResendPaymentLinkPayload { paymentLink { ${LINK} } } }
}`;

type QueuedMutations = Readonly<
  Record<
    "startVisit" | "completeVisit" | "requestPaymentLink",
    Operation<MutationAnswer<{ readonly paymentLink?: { readonly id: string } }>>
  >
>;

/** The mutations that go through the outbox, by their names. */
export const QUEUED: QueuedMutations = {
  startVisit: `mutation StartVisit($input: StartVisitInput!) { result: startVisit(input: $input) { ${REFUSED} } }`,
  completeVisit: `mutation CompleteVisit($input: CompleteVisitInput!) {
    result: completeVisit(input: $input) { ${REFUSED} ${HELD} }
  }`,
  requestPaymentLink: `mutation RequestLink($input: RequestPaymentLinkInput!) {
    result: requestPaymentLink(input: $input) {
      ${REFUSED} ${HELD} ... on RequestPaymentLinkPayload { paymentLink { id } }
    }
  }`,
};
