export { actsOnOperators, type OperatorAuditFilter, type ListedOperatorAct } from "./audit.ts";
export { deleteEndedSessions } from "./delete-ended.ts";
export { InvalidOperatorError, isProviderOperatorName, operatorName, providerOperatorName } from "./operator-name.ts";
export { OPERATOR_ROLES, type OperatorRole } from "./role.ts";
export {
  endOperatorSession,
  openOperatorSessions,
  type OperatorSession,
  type RevokedAccess,
  revokeOperator,
  signedInOperator,
} from "./session.ts";
export { type ProviderSignIn, signInByProvider } from "./sign-in-by-provider.ts";
export {
  createPortalLink,
  createSignInLink,
  type NewPortalLink,
  type NewSignInLink,
  SIGN_IN_LINK_TTL_MS,
  type SignInLink,
  signInByLink,
  usableSignInLink,
} from "./sign-in-link.ts";
export {
  decideSecondPersonRequest,
  isSameOperator,
  requestSecondPerson,
  type SecondPersonDecision,
  secondPersonRequest,
  type SecondPersonRequest,
  waitingSecondPersonRequests,
} from "./second-person.ts";
export { useForm } from "./used-form.ts";
