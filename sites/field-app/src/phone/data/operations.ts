// All requests of the app to the API. A test validates each against the schema.
import type {
  CaseAnswer,
  CaseFacets,
  CasesAnswer,
  Contact,
  Earnings,
  EstimateAnswer,
  LinesAnswer,
  MeAnswer,
  PaymentLink,
  Result,
  Session,
  SyncedCases,
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

const MONEY = "minor currency decimal";
const CASE_ROW = `id loanTail status workable blockedReason blockedReasonCode dpd bucket isShrunk distanceM
  outstanding { ${MONEY} }
  borrower { displayName address }
  lender { name code }
  openPromise { amount { ${MONEY} } dueOn }
  activeLink { id status }`;
const CALCULATION = `calculation { percent base { ${MONEY} } baseBefore { ${MONEY} } }`;
const FALLBACK = "upiUri instructions bankAccount { accountNumber accountName bankName ifsc swift }";
const REVERSAL = `amount { ${MONEY} } payment { ${MONEY} } reason`;
const LINK = `id status url unavailableReason unavailableReasonCode paidAt reversedAt
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
const ALLOWED_AMOUNTS = `... on AmountNotAllowed { minimum { ${MONEY} } maximum { ${MONEY} } }`;

export const WHO_AM_I: Operation<{ readonly viewer: { readonly id: string; readonly displayName: string } }> =
  `query WhoAmI { viewer { id displayName } }`;

export const TODAY: Operation<TodayAnswer> = `query Today {
  viewer {
    displayName
    today { visits collected { ${MONEY} } earned { ${MONEY} } }
  }
  cases(filter: { workable: true }, first: 10) { edges { node { ${CASE_ROW} } } }
}`;

export const CASES: Operation<CasesAnswer> = `query Cases(
  $filter: CaseFilter, $search: String, $sort: CaseSort, $near: NearInput, $after: String
) {
  cases(filter: $filter, search: $search, sort: $sort, near: $near, first: 20, after: $after) {
    edges { node { ${CASE_ROW} } }
    pageInfo { hasNextPage endCursor }
  }
}`;

/** The number of cases in a list, which is asked for once and not with each page. */
export const CASE_COUNT: Operation<{ readonly cases: { readonly totalCount: number } }> =
  `query CaseCount($filter: CaseFilter, $search: String) {
  cases(filter: $filter, search: $search, first: 1) { totalCount }
}`;

export const CASE_FACETS: Operation<{ readonly cases: { readonly facets: CaseFacets } }> =
  `query CaseFacets($filter: CaseFilter) {
  cases(filter: $filter, first: 1) { facets {
    lender { lender { name code } count } city { value count } bucket { value count }
  } }
}`;

/** The fields of a case, as the screen of one case shows them. */
const WHOLE_CASE = `id caseId loanTail status workable blockedReason blockedReasonCode dpd bucket isShrunk
  outstanding { ${MONEY} }
  minimum { ${MONEY} }
  totalCollected { ${MONEY} }
  borrower { displayName address maskedPhone position { latitude longitude } }
  lender { name code }
  openPromise { amount { ${MONEY} } dueOn }
  activeLink { id status }
  estimatedEarning { amount { ${MONEY} } ${CALCULATION} }
  earnings { amount { ${MONEY} } status ${CALCULATION} reference reversal { reversalReference } payout { paidOn } }
  reversals { reversalReference reference reversedAt ${REVERSAL} }
  visits(first: 10) { edges { node { visitId startedAt completedAt disposition note isMine } } }
  fallback { ${FALLBACK} }`;

export const ONE_CASE: Operation<CaseAnswer> = `query OneCase($id: ID!) { case(id: $id) { ${WHOLE_CASE} } }`;

/** The page size is as large as the service's limit of complexity allows. */
export const SYNC: Operation<{ readonly sync: SyncedCases }> = `query Sync($since: String) {
  sync(since: $since, first: 8) { cursor hasMore isFull goneCaseIds cases { ${WHOLE_CASE} } }
}`;

export const ESTIMATE: Operation<EstimateAnswer> = `query Estimate($id: ID!, $amount: MoneyInput) {
  case(id: $id) { estimatedEarning(amount: $amount) { amount { ${MONEY} } ${CALCULATION} } }
}`;

export const ONE_LINK: Operation<{ readonly paymentLink: PaymentLink | null }> =
  `query OneLink($id: ID!) { paymentLink(id: $id) { ${LINK} } }`;

export const WATCH_LINK: Operation<{ readonly paymentLinkUpdated: PaymentLink }> =
  `subscription WatchLink($id: ID!) { paymentLinkUpdated(id: $id) { ${LINK} } }`;

export const EARNINGS: Operation<{ readonly earnings: Earnings }> = `query Earnings($period: Period!) {
  earnings(period: $period) {
    earned { ${MONEY} }
    pending { ${MONEY} }
    credited { ${MONEY} }
    paidOut { ${MONEY} }
    deducted { ${MONEY} }
  }
}`;

export const EARNING_LINES: Operation<LinesAnswer> = `query EarningLines($after: String) {
  earningLines(first: 20, after: $after) {
    edges { node {
      id amount { ${MONEY} } status ${CALCULATION} earnedAt
      case { id loanTail isShrunk lender { name code } borrower { displayName } }
      payout { reference paidOn } reversal { ${REVERSAL} }
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

export const RESEND_LINK: Operation<MutationAnswer<object>> = `mutation ResendLink($input: ResendPaymentLinkInput!) {
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
      ${REFUSED} ${HELD} ${ALLOWED_AMOUNTS} ... on RequestPaymentLinkPayload { paymentLink { id } }
    }
  }`,
};
