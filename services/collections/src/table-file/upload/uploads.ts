import { type Actor, enqueue, newId } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import type { PartOf, Upload, UploadState } from "./upload-schema.ts";
import { UploadEntity, UploadPartEntity, uploadQueue } from "./upload-schema.ts";

/** Identifies an upload. */
export interface UploadKey {
  readonly lenderId: string;
  readonly uploadId: string;
}

const HOUR_MS = 3_600_000;
/** How long an upload is kept after it was sent or applied. */
const KEPT_MS = HOUR_MS;
/** How long an import may wait for workers. */
const APPLYING_MS = 24 * HOUR_MS;
/** How long a worker has an upload without renewing its claim: longer than a batch takes. */
const CLAIMED_MS = 60_000;
const MOST_LISTED = 20;

/** Stores an uploaded file with its sealed parts, and asks a worker to check the file. */
export async function storeUpload(
  tx: Tx,
  { lenderId, uploadId }: UploadKey,
  upload: Pick<Upload, "kind" | "fileName" | "sha256" | "byteCount" | "uploadedBy" | "options">,
  { parts, now }: { readonly parts: readonly string[]; readonly now: Date },
): Promise<void> {
  tx.create(UploadEntity, {
    lenderId,
    id: uploadId,
    ...upload,
    state: "waiting",
    version: 1,
    runId: upload.kind === "payments" ? newId() : null,
    rowsDone: 0,
    rows: null,
    outcome: null,
    reason: null,
    appliedBy: null,
    appliedAt: null,
    claim: null,
    claimedUntil: null,
    createdAt: now,
    expiresAt: new Date(now.getTime() + KEPT_MS),
  });
  for (const [place, sealed] of parts.entries()) {
    tx.create(UploadPartEntity, { lenderId, uploadId, content: "file", place, sealed });
  }
  await enqueue(tx, uploadQueue, { lenderId, uploadId });
}

/** Returns an upload, unless it does not exist or has expired. */
export async function uploadOf(
  em: EntityManager,
  { lenderId, uploadId }: UploadKey,
  now: Date,
): Promise<Upload | undefined> {
  const found = await em.findOne(
    UploadEntity,
    { lenderId, id: uploadId, expiresAt: { $gt: now } },
    { disableIdentityMap: true },
  );
  return found ?? undefined;
}

/** Returns the newest uploads of a lender that have not expired. */
export async function uploadsOf(em: EntityManager, { lenderId, kind }: Pick<Upload, "lenderId" | "kind">, now: Date) {
  return em.find(
    UploadEntity,
    { lenderId, kind, expiresAt: { $gt: now } },
    {
      fields: ["lenderId", "id", "fileName", "state", "uploadedBy", "createdAt"],
      orderBy: { createdAt: "desc" },
      limit: MOST_LISTED,
      disableIdentityMap: true,
    },
  );
}

/** Returns the number of uploads of a lender that have not expired. */
export async function countUploads(em: EntityManager, lenderId: string, now: Date): Promise<number> {
  return em.count(UploadEntity, { lenderId, expiresAt: { $gt: now } });
}

/** Returns sealed parts with their places, in order. */
export async function partsOf(em: EntityManager, { lenderId, uploadId }: UploadKey, content: PartOf) {
  return em.find(
    UploadPartEntity,
    { lenderId, uploadId, content },
    { orderBy: { place: "asc" }, disableIdentityMap: true },
  );
}

/** Asks for another check, with other options. Returns false if the upload is not at this version, or is being applied. */
export async function checkAgain(
  tx: Tx,
  key: UploadKey & { readonly version: number },
  { options, runId, now }: Pick<Upload, "options" | "runId"> & { readonly now: Date },
): Promise<boolean> {
  const { lenderId, uploadId, version } = key;
  const changed = await tx.nativeUpdate(
    UploadEntity,
    { lenderId, id: uploadId, version, state: { $in: ["checked", "refused"] }, expiresAt: { $gt: now } },
    { state: "waiting", version: version + 1, runId, options, outcome: null, rowsDone: 0, rows: null },
  );
  if (changed > 0) await enqueue(tx, uploadQueue, { lenderId, uploadId });
  return changed > 0;
}

/** Asks a worker to apply a checked file. Returns false if the check with this version is not the last one. */
export async function applyUpload(
  tx: Tx,
  key: UploadKey & { readonly version: number },
  { by, reason, now }: { readonly by: Actor; readonly reason: string | null; readonly now: Date },
): Promise<boolean> {
  const { lenderId, uploadId, version } = key;
  const changed = await tx.nativeUpdate(
    UploadEntity,
    { lenderId, id: uploadId, kind: "cases", version, state: "checked", expiresAt: { $gt: now } },
    {
      state: "applying",
      appliedBy: by,
      appliedAt: now,
      reason,
      rowsDone: 0,
      expiresAt: new Date(now.getTime() + APPLYING_MS),
    },
  );
  if (changed > 0) await enqueue(tx, uploadQueue, { lenderId, uploadId });
  return changed > 0;
}

/** A worker's claim on an upload. */
export interface Claim extends UploadKey {
  readonly claim: string;
}

/** Claims an upload that waits for a worker. Returns false if another worker has it. */
export async function claimUpload(
  em: EntityManager,
  { lenderId, uploadId, claim }: Claim,
  now: Date,
): Promise<boolean> {
  const changed = await em.nativeUpdate(
    UploadEntity,
    {
      lenderId,
      id: uploadId,
      state: { $in: ["waiting", "applying"] },
      $or: [{ claimedUntil: null }, { claimedUntil: { $lte: now } }],
    },
    { claim, claimedUntil: claimedUntil(now) },
  );
  return changed > 0;
}

/** Records the progress and renews a claim. Returns false if another worker has the upload. */
export async function renewClaim(
  em: EntityManager,
  { lenderId, uploadId, claim }: Claim,
  { now, ...progress }: { readonly rowsDone?: number; readonly rows?: number; readonly now: Date },
): Promise<boolean> {
  const changed = await em.nativeUpdate(
    UploadEntity,
    { lenderId, id: uploadId, claim },
    { ...progress, claimedUntil: claimedUntil(now) },
  );
  return changed > 0;
}

/**
 * Ends a claim with the outcome of a check or of an import. The file of an import that has ended is deleted. Returns false
 * if another worker has the upload.
 */
export async function settleUpload(
  tx: Tx,
  { lenderId, uploadId, claim }: Claim,
  { state, outcome, now }: { readonly state: UploadState; readonly outcome: string; readonly now: Date },
): Promise<boolean> {
  const isOver = state === "applied";
  const changed = await tx.nativeUpdate(
    UploadEntity,
    { lenderId, id: uploadId, claim },
    {
      state,
      outcome,
      claim: null,
      claimedUntil: null,
      expiresAt: new Date(now.getTime() + KEPT_MS),
    },
  );
  if (changed > 0 && isOver) await tx.nativeDelete(UploadPartEntity, { lenderId, uploadId, content: "file" });
  return changed > 0;
}

/** Ends a claim, so that another worker continues at once. */
export async function releaseClaim(em: EntityManager, { lenderId, uploadId, claim }: Claim): Promise<void> {
  await em.nativeUpdate(UploadEntity, { lenderId, id: uploadId, claim }, { claim: null, claimedUntil: null });
}

/** Deletes the rejected rows from a position on, and adds a part there if it is given. */
export async function addRejected(
  tx: Tx,
  { lenderId, uploadId }: UploadKey,
  { place, sealed }: { readonly place: number; readonly sealed?: string | undefined },
): Promise<void> {
  const content = "rejected";
  await tx.nativeDelete(UploadPartEntity, { lenderId, uploadId, content, place: { $gte: place } });
  if (sealed !== undefined) await tx.insert(UploadPartEntity, { lenderId, uploadId, content, place, sealed });
}

/** Deletes the expired uploads of a lender. */
export async function deleteExpiredUploads(tx: Tx, lenderId: string, now: Date): Promise<void> {
  const expired = await tx.find(
    UploadEntity,
    { lenderId, expiresAt: { $lte: now } },
    { fields: ["lenderId", "id"], disableIdentityMap: true },
  );
  if (expired.length === 0) return;
  const ids = expired.map(({ id }) => id);
  await tx.nativeDelete(UploadPartEntity, { lenderId, uploadId: { $in: ids } });
  await tx.nativeDelete(UploadEntity, { lenderId, id: { $in: ids } });
}

function claimedUntil(now: Date): Date {
  return new Date(now.getTime() + CLAIMED_MS);
}
