import { transaction } from "@collections/database";
import {
  ApiKeyNotUsableError,
  createKey,
  InvalidLenderError,
  keysOf,
  retireKey,
  revokeKey,
  setSigningKey,
} from "@collections/lenders";
import { timeIn } from "@collections/local-time";
import type { DeskOutcome } from "../acts.ts";
import { EXPECTED_MOMENT, readClockMoment } from "../files/clock-moment.ts";
import { type ConnectionActing, lenderIn } from "./acting.ts";

/** An API key of a lender. */
export interface KeyName {
  readonly lenderCode: string;
  readonly keyId: string;
}

/** An order for an API key. `at` is when a key retires: a local time of the lender, or a time with a zone. */
export type KeyOrder = KeyName & { readonly reason: string } & (
    | { readonly order: "retire"; readonly at: string }
    | { readonly order: "revoke" | "sign" }
  );

/** Returns an API key for a form. Undefined if the person sees no such key. */
export async function keyFromDesk(acting: ConnectionActing, { lenderCode, keyId }: KeyName) {
  const lender = await lenderIn(acting, lenderCode);
  const key = lender && (await keysOf(acting.em(), lender.id)).find(({ id }) => id === keyId);
  if (!lender || !key) return undefined;
  const { state, signing, retiresAt } = key;
  const { code, timeZone } = lender;
  return {
    lenderCode: code,
    timeZone,
    keyId,
    state,
    isSigning: signing,
    endsAt: retiresAt && timeIn(timeZone, retiresAt),
  };
}

/** Creates an API key. The answer is the only place that has its secret. */
export async function createKeyFromDesk(
  acting: ConnectionActing,
  { lenderCode }: { readonly lenderCode: string },
): Promise<
  | { readonly kind: "not_found" }
  | { readonly kind: "created"; readonly keyId: string; readonly secret: string; readonly signedBy: string | null }
> {
  const { em, vault, environment } = acting;
  const lender = await lenderIn(acting, lenderCode);
  if (!lender) return { kind: "not_found" };
  const issued = await transaction(em(), (tx) => createKey(tx, vault, { lenderId: lender.id, environment }));
  const signing = (await keysOf(em(), lender.id)).find((key) => key.signing);
  return { kind: "created", keyId: issued.apiKeyId, secret: issued.hmacSecret, signedBy: signing?.id ?? null };
}

/** Retires or revokes an API key, or signs webhooks with it. The last valid key does not end. */
export async function orderKeyFromDesk(acting: ConnectionActing, order: KeyOrder): Promise<DeskOutcome> {
  const lender = await lenderIn(acting, order.lenderCode);
  if (!lender) return { kind: "not_found" };
  const { keyId, reason } = order;
  const key = { lenderId: lender.id, keyId };
  const on = order.order === "retire" ? readClockMoment(order.at.trim())?.(lender.timeZone) : undefined;
  if (order.order === "retire" && !on) return refused(`${EXPECTED_MOMENT}.`);
  try {
    await transaction(acting.em(), (tx) => {
      if (on) return retireKey(tx, { ...key, on, reason });
      if (order.order === "revoke") return revokeKey(tx, { ...key, reason });
      return setSigningKey(tx, { ...key, ...(reason !== "" && { reason }) });
    });
    return { kind: "done" };
  } catch (error) {
    if (error instanceof InvalidLenderError) return refused(error.faults.map(({ detail }) => detail).join(" "));
    if (!(error instanceof ApiKeyNotUsableError)) throw error;
    return error.code === "API_KEY_NOT_FOUND" ? { kind: "not_found" } : refused(error.message);
  }
}

function refused(detail: string) {
  return { kind: "refused" as const, detail };
}
