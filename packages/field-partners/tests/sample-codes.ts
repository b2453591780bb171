import { migrate, transaction } from "@collections/database";
import { createDatabase, type Tx } from "@collections/entities";
import { testDatabase } from "@collections/testing";
import { randomUUID } from "node:crypto";
import {
  createFieldPartner,
  createSignInKeys,
  otpToSend,
  recordOtpSending,
  requestOtp,
  verifyOtp,
} from "../src/index.ts";
import { fieldPartnersSchema } from "../src/schema.ts";

export const NOW = new Date("2026-11-21T09:00:00Z");
export const MASTER_KEY = "a".repeat(64);
export const keys = createSignInKeys({ masterKey: MASTER_KEY });
export const schemas = [fieldPartnersSchema];

export function minutesLater(minutes: number): Date {
  return new Date(NOW.getTime() + minutes * 60_000);
}

/** Returns six digits that differ from the code. */
export function anotherThan(code: string): string {
  return code === "000000" ? "000001" : "000000";
}

/** Creates a database for a test file, and functions that register people and request and verify codes. */
export async function sampleCodes() {
  const { url } = await testDatabase("field-partners-jobs", async (url) => {
    await migrate({ url, schemas, jobs: true });
  });
  const database = await createDatabase({ url, schemas, poolMax: 12 });
  await database.jobs.start();
  let phones = 0;

  function inTx<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return transaction(database.em(), work);
  }

  function aPhone(): string {
    phones += 1;
    return `+9198${String(20_000_000 + phones)}`;
  }

  function aPerson() {
    return inTx((tx) => createFieldPartner(tx, { displayName: "Asha", phone: aPhone() }));
  }

  function request(phone: string, now = NOW, idempotencyKey: string = randomUUID()) {
    return inTx((tx) => requestOtp(tx, { phone, idempotencyKey }, now));
  }

  async function aRequested(phone: string, now = NOW): Promise<string> {
    const requested = await request(phone, now);
    if (requested.kind !== "requested") throw new Error(`No code: ${requested.kind}.`);
    return requested.otpId;
  }

  /** Registers a person and sends a code to their phone. */
  async function aSentCode() {
    const person = await aPerson();
    const otpId = await aRequested(person.phone);
    const { code } = (await otpToSend(database.em(), keys, otpId, NOW))!;
    await inTx((tx) => recordOtpSending(tx, { otpId, fieldPartnerId: person.id, channel: "sms" }, NOW));
    return { person, otpId, code };
  }

  function verify(otpId: string, code: string, more: { now?: Date; idempotencyKey?: string; with?: typeof keys } = {}) {
    const { now = NOW, idempotencyKey = randomUUID() } = more;
    const given = { otpId, code, idempotencyKey, deviceName: "Redmi" };
    return inTx((tx) => verifyOtp(tx, more.with ?? keys, given, now));
  }

  async function jobsOf(otpId: string): Promise<unknown[]> {
    const { rows } = await database.pool.query("select data from collections_jobs.job where data ->> 'otpId' = $1", [
      otpId,
    ]);
    return rows.map(({ data }) => data as unknown);
  }

  return { url, database, inTx, aPhone, aPerson, request, aRequested, aSentCode, verify, jobsOf };
}
