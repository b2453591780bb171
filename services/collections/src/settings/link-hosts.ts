import type { AllowList } from "@collections/outbound";
import type { Config } from "./config.ts";

/**
 * Returns the hosts for which the URL of a payment link may be plain http or a private address. Borrowers open the links,
 * so outside a sandbox there is no such host: OUTBOUND_ALLOW permits hosts only for calls of the service.
 */
export function allowedForLinks({ isSandbox, outboundAllow }: Config): AllowList {
  return isSandbox ? outboundAllow : { entries: [] };
}
