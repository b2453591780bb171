import type { QueueOptions } from "./queue.ts";

/** A job as pg-boss fetches it. */
export interface FetchedJob {
  readonly id: string;
  readonly data: never;
  readonly retryCount: number;
}

/**
 * The part of pg-boss that this package uses. Its own types are not named here, because no host of the packed
 * package installs pg-boss.
 */
export interface Boss {
  start(): Promise<unknown>;
  stop(options: { readonly graceful: boolean; readonly close?: boolean }): Promise<void>;
  on(event: "error", listener: (error: unknown) => void): unknown;
  send(queue: string, data: object, options: object): Promise<string | null>;
  insert(queue: string, jobs: readonly object[], options: object): Promise<unknown>;
  fetch(queue: string, options: { readonly batchSize: number; readonly includeMetadata: true }): Promise<FetchedJob[]>;
  complete(queue: string, attempt: JobAttempt): Promise<unknown>;
  fail(queue: string, attempt: JobAttempt, error: object): Promise<unknown>;
  getQueue(queue: string): Promise<unknown>;
  createQueue(queue: string, options: Partial<QueueOptions>): Promise<void>;
  updateQueue(queue: string, options: Partial<QueueOptions>): Promise<void>;
}

/** One attempt of a job. */
export interface JobAttempt {
  readonly id: string;
  readonly retryCount: number;
}

/**
 * Makes an object of pg-boss. Its package is loaded here, because most commands write no jobs, and a host without jobs does
 * not install that package.
 */
export async function newBoss(options: object): Promise<Boss> {
  const { createPgBoss } = await import("@collections/pg-boss").catch((error: unknown) => {
    if ((error as { code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") throw error;
    const advice = "Install its file of the same release: npm install ./collections-pg-boss-*.tgz.";
    throw new Error(`Jobs need @collections/pg-boss, which is not installed. ${advice}`, { cause: error });
  });
  return createPgBoss(options) as Boss;
}
