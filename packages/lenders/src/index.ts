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
} from "./key/api-key.ts";
export {
  type Act,
  actsOn,
  actsOnLenders,
  actsOnLoan,
  type AuditEntry,
  type AuditFilter,
  type LenderAuditEntry,
  recordAct,
} from "./lender/audit.ts";
export { commissionPlans } from "./lender/commission-plan.ts";
export { createLender } from "./create-lender.ts";
export {
  createCredentials,
  type CredentialOptions,
  type Credential,
  CREDENTIAL_MAX_AGE_MS,
  type Credentials,
  type KeySecrets,
  type LenderSigningKey,
} from "./key/credentials.ts";
export { DEBUGGER_OPEN_MS, openDebugger } from "./key/debugger.ts";
export { createKeyUses, type KeyUse, type KeyUses } from "./key/key-use.ts";
export {
  ApiKeyNotUsableError,
  InvalidLenderError,
  LenderNotFoundError,
  type LenderFault,
  type LenderFaultCode,
  LenderSuspendedError,
} from "./lender/lender-fault.ts";
export { type AuthHeader } from "./lender/lender-fields.ts";
export { type LenderChanges, type NewLender } from "./lender/lender-input.ts";
export {
  type MintRegistration,
  mintRegistration,
  type WhatsappAccount,
  whatsappAccount,
  type WhatsappWebhook,
  whatsappWebhook,
} from "./lender/lender-secrets.ts";
export {
  type Fallback,
  type Lender,
  lenderByCode,
  lenderById,
  lenderIds,
  type LenderProfile,
  lendersByIds,
  listLenders,
} from "./lender/lender.ts";
export {
  checkMasterKey,
  checkMasterKeyBeforeMigration,
  replaceLostMasterKey,
  WrongMasterKeyError,
} from "./secret/master-key-sentinel.ts";
export { type ResealReport, resealSecrets } from "./lender/reseal-secrets.ts";
export { type ApiKeyState, type FallbackBank, type LenderState } from "./schema.ts";
export { type SecretKind } from "./secret/sealed-context.ts";
export { type UnreadableSecret, unreadableSecrets } from "./secret/unreadable-secrets.ts";
export { type SettingChange, type SettingChanges } from "./lender/setting-changes.ts";
export { type LenderUpdate, resumeLender, suspendLender, updateLender } from "./lender/update-lender.ts";
export {
  createVault,
  InvalidMasterKeyError,
  SealedValueError,
  type SealedValueFault,
  type Vault,
} from "./secret/vault.ts";
