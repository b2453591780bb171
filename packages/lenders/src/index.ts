export {
  type ApiKey,
  createKey,
  type IssuedKey,
  keysOf,
  lenderOfKey,
  recordKeyUse,
  retireKey,
  revokeKey,
  setSigningKey,
} from "./api-key.ts";
export { type Act, actsOn, type AuditEntry, recordAct } from "./audit.ts";
export { commissionPlans } from "./commission-plan.ts";
export { createLender } from "./create-lender.ts";
export {
  createCredentials,
  type CredentialOptions,
  type Credential,
  CREDENTIAL_MAX_AGE_MS,
  type Credentials,
  type KeySecrets,
  type LenderSigningKey,
} from "./credentials.ts";
export { DEBUGGER_OPEN_MS, openDebugger } from "./debugger.ts";
export { createKeyUses, type KeyUse, type KeyUses } from "./key-use.ts";
export {
  ApiKeyNotUsableError,
  InvalidLenderError,
  LenderNotFoundError,
  type LenderFault,
  type LenderFaultCode,
  LenderSuspendedError,
} from "./lender-fault.ts";
export { type AuthHeader } from "./lender-fields.ts";
export { type LenderChanges, type NewLender } from "./lender-input.ts";
export {
  type MintRegistration,
  mintRegistration,
  type WhatsappAccount,
  whatsappAccount,
  type WhatsappWebhook,
  whatsappWebhook,
} from "./lender-secrets.ts";
export {
  type Fallback,
  type Lender,
  lenderByCode,
  lenderById,
  lenderIds,
  type LenderProfile,
  lendersByIds,
  listLenders,
} from "./lender.ts";
export {
  checkMasterKey,
  checkMasterKeyBeforeMigration,
  replaceLostMasterKey,
  WrongMasterKeyError,
} from "./master-key-sentinel.ts";
export { forgetPermits, type PermitAsk, type PermitGrant, type PermitRules, takePermits } from "./permit.ts";
export { type ResealReport, resealSecrets } from "./reseal-secrets.ts";
export { type ApiKeyState, type FallbackBank, type LenderState } from "./schema.ts";
export { type SecretKind } from "./sealed-context.ts";
export { type UnreadableSecret, unreadableSecrets } from "./unreadable-secrets.ts";
export { resumeLender, suspendLender, updateLender } from "./update-lender.ts";
export { createVault, InvalidMasterKeyError, SealedValueError, type SealedValueFault, type Vault } from "./vault.ts";
