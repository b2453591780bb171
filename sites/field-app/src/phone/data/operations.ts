// All requests of the app to the API. A test validates each against the schema.

const CASE_ROW = `id loanTail status workable blockedReason dpd bucket isShrunk distanceM
  outstanding { display(locale: $locale) }
  borrower { displayName address }
  lender { name code }
  openPromise { amount { display(locale: $locale) } dueOn }
  activeLink { id status }`;

const MONEY = "minor currency decimal display(locale: $locale)";
const FALLBACK = "upiUri qrSvg instructions bankAccount { accountNumber accountName bankName ifsc swift }";
const LINK = `id status url unavailableReason paidAt
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

export const WHO_AM_I = `query WhoAmI { viewer { id displayName } }`;

export const TODAY = `query Today($locale: String) {
  viewer {
    displayName
    today { visits collected { display(locale: $locale) } earned { display(locale: $locale) } }
  }
  cases(filter: { workable: true }, first: 10) { edges { node { ${CASE_ROW} } } }
}`;

export const CASES = `query Cases(
  $filter: CaseFilter, $search: String, $sort: CaseSort, $near: NearInput, $after: String, $locale: String
) {
  cases(filter: $filter, search: $search, sort: $sort, near: $near, first: 20, after: $after) {
    edges { node { ${CASE_ROW} } }
    pageInfo { hasNextPage endCursor }
  }
}`;

export const ONE_CASE = `query OneCase($id: ID!, $locale: String) {
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
    earnings { amount { display(locale: $locale) } status formula }
    visits(first: 10) { edges { node { visitId startedAt completedAt disposition note isMine } } }
    fallback { ${FALLBACK} }
  }
}`;

export const ESTIMATE = `query Estimate($id: ID!, $amount: MoneyInput, $locale: String) {
  case(id: $id) { estimatedEarning(amount: $amount) { amount { display(locale: $locale) } formula } }
}`;

export const ONE_LINK = `query OneLink($id: ID!, $locale: String) { paymentLink(id: $id) { ${LINK} } }`;

export const WATCH_LINK = `subscription WatchLink($id: ID!, $locale: String) { paymentLinkUpdated(id: $id) { ${LINK} } }`;

export const EARNINGS = `query Earnings($period: Period!, $locale: String) {
  earnings(period: $period) {
    earned { display(locale: $locale) }
    pending { display(locale: $locale) }
    credited { display(locale: $locale) }
    paidOut { display(locale: $locale) }
  }
}`;

export const EARNING_LINES = `query EarningLines($after: String, $locale: String) {
  earningLines(first: 20, after: $after) {
    edges { node { id amount { display(locale: $locale) } status formula earnedAt payout { reference paidOn } } }
    pageInfo { hasNextPage endCursor }
  }
}`;

const SESSION = "id deviceName startedAt refreshedAt isCurrent";

export const ME = `query Me { viewer { displayName timeZone } sessions { ${SESSION} } }`;

export const REQUEST_OTP = `mutation RequestOtp($input: RequestOtpInput!) {
  result: requestOtp(input: $input) { ${REFUSED} ... on RequestOtpPayload { otpId } }
}`;

export const VERIFY_OTP = `mutation VerifyOtp($input: VerifyOtpInput!) {
  result: verifyOtp(input: $input) { ${REFUSED} ... on VerifyOtpPayload { ${TOKENS} } }
}`;

export const REFRESH_SESSION = `mutation RefreshSession($input: RefreshSessionInput!) {
  result: refreshSession(input: $input) { ${REFUSED} ... on RefreshSessionPayload { ${TOKENS} } }
}`;

export const SIGN_OUT = `mutation SignOut($input: SignOutInput!) { result: signOut(input: $input) { ${REFUSED} } }`;

export const END_SESSION = `mutation EndSession($input: EndSessionInput!) {
  result: endSession(input: $input) { ${REFUSED} ... on EndSessionPayload { sessions { ${SESSION} } } }
}`;

export const REVEAL_CONTACT = `mutation RevealContact($input: RevealContactInput!) {
  result: revealContact(input: $input) {
    ${REFUSED} ... on RevealContactPayload { contact { phone alternatePhones email } }
  }
}`;

export const RESEND_LINK = `mutation ResendLink($input: ResendPaymentLinkInput!, $locale: String) {
  result: resendPaymentLink(input: $input) { ${REFUSED} ... on ResendPaymentLinkPayload { paymentLink { ${LINK} } } }
}`;

/** The mutations that go through the outbox, by their names. */
export const QUEUED = {
  startVisit: `mutation StartVisit($input: StartVisitInput!) { result: startVisit(input: $input) { ${REFUSED} } }`,
  completeVisit: `mutation CompleteVisit($input: CompleteVisitInput!) {
    result: completeVisit(input: $input) { ${REFUSED} ${HELD} }
  }`,
  requestPaymentLink: `mutation RequestLink($input: RequestPaymentLinkInput!) {
    result: requestPaymentLink(input: $input) {
      ${REFUSED} ${HELD} ... on RequestPaymentLinkPayload { paymentLink { id } }
    }
  }`,
} as const;
