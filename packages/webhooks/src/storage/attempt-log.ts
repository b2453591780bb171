import { defineTable } from "@collections/database";

/** One request to a callback, and its result. Its row never changes. */
export interface Attempt {
  lenderId: string;
  id: string;
  deliveryId: string;
  number: number;
  startedAt: Date;
  durationMs: number;
  outcome: "delivered" | "failed";
  /** The status of the answer. Null, like headers and body, if no answer came. */
  status: number | null;
  headers: Record<string, string> | null;
  /** The first 2 KB of the body as text. */
  body: string | null;
  /** The code of the failure. Null, like `errorDetail`, if the event was delivered. */
  errorCode: string | null;
  errorDetail: string | null;
  replay: boolean;
  createdAt: Date;
}

export const attemptTable = defineTable<Attempt>("webhooks.attempt", {
  lenderId: "uuid",
  id: "uuid",
  deliveryId: "uuid",
  number: "integer",
  startedAt: "timestamptz",
  durationMs: "integer",
  outcome: "text",
  status: "integer null",
  headers: "jsonb null",
  body: "text null",
  errorCode: "text null",
  errorDetail: "text null",
  replay: "boolean",
  createdAt: "timestamptz",
});

/** The properties of an attempt that its log shows. */
export const LOGGED = [
  "number",
  "startedAt",
  "durationMs",
  "outcome",
  "status",
  "headers",
  "body",
  "errorCode",
  "errorDetail",
  "replay",
] as const;
