export { fieldPartnerByToken, issueAccessToken, OPERATOR_TOKEN_TTL_MS, revokeAccessToken } from "./access-token.ts";
export {
  FieldPartnerNotFoundError,
  InvalidFieldPartnerError,
  type FieldPartnerFaultCode,
} from "./field-partner-fault.ts";
export {
  createFieldPartner,
  type FieldPartner,
  fieldPartnerById,
  fieldPartnersByIds,
  listFieldPartners,
  type NewFieldPartner,
  resumeFieldPartner,
  suspendFieldPartner,
} from "./field-partner.ts";
export {
  forgetExpired,
  MUTATION_RESULT_TTL_MS,
  type MutationKey,
  recallMutation,
  type Recalled,
  rememberMutation,
} from "./mutation-result.ts";
export { type FieldPartnerState } from "./schema.ts";
