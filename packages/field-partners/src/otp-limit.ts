import { query, statement } from "@collections/database";
import type { Tx } from "@collections/entities";
import { recordFieldPartnerAct } from "./audit.ts";
import { fieldPartnerById } from "./field-partner.ts";
import { FieldPartnerNotFoundError } from "./field-partner-fault.ts";
import { OTP_DAY_MS } from "./otp-rule.ts";

const resetOtps = statement(
  "field-partners.forgive-otps",
  `update field_partners.otp set forgiven_at = $2
   where phone = $1 and requested_at > $3 and forgiven_at is null
   returning wrong_tries as "wrongTries"`,
);

/**
 * Resets the limits of a field partner's phone, for all devices. Codes that were already sent stay valid, with their own
 * limit of five tries. Returns the number of codes and wrong tries that no longer count.
 * Throws FieldPartnerNotFoundError.
 *
 * @example
 * const reason = "Called the desk: a colleague tried the wrong number";
 * const { codes, wrongTries } = await clearOtpLimit(tx, { fieldPartnerId, reason }, now);
 */
export async function clearOtpLimit(
  tx: Tx,
  { fieldPartnerId, reason }: { fieldPartnerId: string; reason: string },
  now: Date,
): Promise<{ codes: number; wrongTries: number }> {
  const fieldPartner = await fieldPartnerById(tx, fieldPartnerId);
  if (!fieldPartner) throw new FieldPartnerNotFoundError(fieldPartnerId);
  const dayStart = new Date(now.getTime() - OTP_DAY_MS);
  const reset = await query<{ wrongTries: number }>(tx, resetOtps, [fieldPartner.phone, now, dayStart]);
  const cleared = {
    codes: reset.length,
    wrongTries: reset.reduce((sum, { wrongTries }) => sum + wrongTries, 0),
  };
  recordFieldPartnerAct(tx, { fieldPartnerId, act: "otp.limit_cleared", reason, data: cleared }, now);
  return cleared;
}
