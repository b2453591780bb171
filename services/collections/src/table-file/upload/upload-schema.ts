import { type Actor, type PackageSchema, queue } from "@collections/database";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import type { TypedOptions } from "./upload-options.ts";

/** A job that checks or applies an uploaded file. The state of the upload says which of them. */
export interface UploadJob {
  readonly lenderId: string;
  readonly uploadId: string;
}

/** The jobs of uploaded files. A killed worker's job runs again after `expireInSeconds`, and continues its import. */
export const uploadQueue = queue<UploadJob>("uploaded-file", {
  retryLimit: 5,
  retryDelay: 2,
  retryDelayMax: 60,
  expireInSeconds: 90,
  deleteAfterSeconds: 3_600,
});

/**
 * The states of an upload. A worker checks a `waiting` file, and applies an `applying` one. A `refused` file cannot be
 * applied until it is checked again. A file of payments is compared by its check, and is never applied.
 */
export const UPLOAD_STATES = ["waiting", "checked", "refused", "applying", "applied"] as const;
/** The state of an upload. */
export type UploadState = (typeof UPLOAD_STATES)[number];

/** The kinds of uploaded files: cases to import, and payments of a day to compare with the booked payments. */
export const UPLOAD_KINDS = ["cases", "payments"] as const;
/** The kind of an uploaded file. */
export type UploadKind = (typeof UPLOAD_KINDS)[number];

/** A file that was uploaded for a lender. The file is deleted when it expires. */
export const UploadEntity = defineEntity({
  name: "Upload",
  schema: "uploads",
  tableName: "upload",
  properties: {
    lenderId: p.uuid().primary(),
    /** The id of the form with which the file was sent. */
    id: p.uuid().primary(),
    kind: p.text().$type<UploadKind>(),
    fileName: p.text(),
    sha256: p.text(),
    byteCount: p.integer(),
    uploadedBy: p.text().$type<Actor>(),
    options: p.json<TypedOptions>(),
    state: p.text().$type<UploadState>(),
    /** The number of checks that were asked for. Only the options of the last one can be applied. */
    version: p.integer(),
    /** The id of the reconciliation that the last check of payments makes. */
    runId: p.uuid().strictNullable(),
    rowsDone: p.integer(),
    /** The number of rows. Null until the file is read. */
    rows: p.integer().strictNullable(),
    /** The sealed outcome of the last check or of the import. It contains rows of the file. */
    outcome: p.text().strictNullable(),
    reason: p.text().strictNullable(),
    appliedBy: p.text().$type<Actor>().strictNullable(),
    appliedAt: p.datetime().columnType("timestamptz").strictNullable(),
    /** The worker that checks or applies the file, until `claimedUntil`. */
    claim: p.uuid().strictNullable(),
    claimedUntil: p.datetime().columnType("timestamptz").strictNullable(),
    createdAt: p.datetime().columnType("timestamptz"),
    expiresAt: p.datetime().columnType("timestamptz"),
  },
});

/** An upload as it is stored. */
export type Upload = Readonly<InferEntity<typeof UploadEntity>>;

/** The contents of an upload: the file, or the rejected rows of its import. */
export type PartOf = "file" | "rejected";

/** A sealed part of a file or of its rejected rows. Parts are in the order of `place`. */
export const UploadPartEntity = defineEntity({
  name: "UploadPart",
  schema: "uploads",
  tableName: "part",
  properties: {
    lenderId: p.uuid().primary(),
    uploadId: p.uuid().primary(),
    content: p.text().$type<PartOf>().primary(),
    /** The number of the part of a file, or the position of rejected rows in their file. */
    place: p.integer().primary(),
    sealed: p.text(),
  },
});

/** The PostgreSQL schema `uploads`: files of cases and payments, which are sealed and kept for hours. */
export const uploadsSchema: PackageSchema = {
  name: "uploads",
  entities: [UploadEntity, UploadPartEntity],
  migrations: [
    {
      name: "0001",
      statements: [
        `create schema uploads`,
        `create table uploads.upload (
          lender_id uuid not null,
          id uuid not null,
          kind text not null check (kind in ('cases', 'payments')),
          file_name text not null,
          sha256 text not null,
          byte_count integer not null,
          uploaded_by text not null,
          options jsonb not null,
          state text not null check (state in ('waiting', 'checked', 'refused', 'applying', 'applied')),
          version integer not null,
          run_id uuid,
          rows_done integer not null,
          rows integer,
          outcome text,
          reason text,
          applied_by text,
          applied_at timestamptz,
          claim uuid,
          claimed_until timestamptz,
          created_at timestamptz not null,
          expires_at timestamptz not null,
          primary key (lender_id, id)
        )`,
        `create table uploads.part (
          lender_id uuid not null,
          upload_id uuid not null,
          content text not null check (content in ('file', 'rejected')),
          place integer not null,
          sealed text not null,
          primary key (lender_id, upload_id, content, place)
        )`,
      ],
    },
  ],
  queues: [uploadQueue],
};
