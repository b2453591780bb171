// The declarations that the examples in the docstrings use. Each example is compiled together with this file.

import { createHash } from "node:crypto";
import { transaction } from "@collections/database";
import type { Database, EntityManager, Tx } from "@collections/entities";
import type * as own from "@collections/field-partners";

declare const database: Database;
declare const em: EntityManager;
declare const tx: Tx;
declare const now: Date;
declare const fieldPartnerId: string;
declare const caseId: string;
declare const sessionId: string;
declare const otpId: string;
declare const keys: own.SignInKeys;
/** The master key has 64 hex digits. */
declare const masterKey: string;
/** Values that the app has sent. */
declare const code: string;
declare const accessToken: string;
declare const refreshToken: string;
declare const idempotencyKey: string;
declare const input: object;
