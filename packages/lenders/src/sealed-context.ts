/** Where the secret of an API key lives: what is sealed for one row opens in no other. */
export function apiKeySecretContext(lenderId: string, keyId: string): string {
  return `lenders.api_key.secret/${lenderId}/${keyId}`;
}

/** Where the auth header of a lender's mint endpoint lives. */
export function mintAuthHeaderContext(lenderId: string): string {
  return `lenders.lender.mint_auth_header/${lenderId}`;
}

/** Where the access token of a lender's WhatsApp account lives. */
export function whatsappTokenContext(lenderId: string): string {
  return `lenders.lender.whatsapp_token/${lenderId}`;
}

/** Where the app secret lives by which Meta signs what it tells of a lender's messages. */
export function whatsappAppSecretContext(lenderId: string): string {
  return `lenders.lender.whatsapp_app_secret/${lenderId}`;
}

/** Where the token lives that Meta shows when a lender registers our webhook with it. */
export function whatsappVerifyTokenContext(lenderId: string): string {
  return `lenders.lender.whatsapp_verify_token/${lenderId}`;
}

/** Where the value lives that only the database's master key opens. */
export function masterKeySentinelContext(): string {
  return "lenders.master_key_sentinel.sealed";
}
