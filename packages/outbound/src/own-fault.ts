/** Errors that our own machine or network caused, and not the server. */
export const OWN_ERRNOS: ReadonlySet<string> = new Set([
  "EACCES",
  "EADDRNOTAVAIL",
  "EMFILE",
  "ENETDOWN",
  "ENETUNREACH",
  "ENFILE",
  "ENOBUFS",
  "ENOMEM",
  "EPERM",
]);

/** Resolver errors with a cause on our side: our machine or network failed, or our DNS server did not answer. */
export const OWN_DNS_ERRNOS: ReadonlySet<string> = new Set([
  ...OWN_ERRNOS,
  "EAI_AGAIN",
  "EAI_MEMORY",
  "EAI_SYSTEM",
  "ECONNREFUSED",
  "ETIMEOUT",
]);

/** After this time without a further failure, nothing is known about the fault any more. */
const FORGOTTEN_AFTER_MS = 15 * 60_000;

/** The part of our own side that fails. */
export type OwnFaultReason = "OWN_DNS_FAILED" | "OWN_NETWORK_FAILED";

/** A fault of our own DNS or network that no request has shown to be over. */
export interface OwnFault {
  readonly reason: OwnFaultReason;
  /** The code of the last error, such as ECONNREFUSED. */
  readonly systemCode: string;
  /** The time of the first failure. */
  readonly since: Date;
  /** The time from the first failure to the last one. 0 after a single failure. */
  readonly lastingMs: number;
}

/** Called when a fault has lasted for `afterMs`, and when it is over. */
export interface OwnFaultAlarm {
  /** Default: a minute. */
  readonly afterMs?: number;
  onFault(fault: OwnFault): void;
  onEnd(fault: OwnFault): void;
}

const DEFAULT_AFTER_MS = 60_000;

/** The parts that are watched. Names are resolved by DNS servers, or by the operating system for listed hosts. */
export type WatchedPart = "dns" | "system" | "network";

type Failing = OwnFault & { readonly firstAt: number; readonly lastAt: number; readonly isReported: boolean };

/** Remembers since when our own DNS or network fails. Counts with a clock that does not jump. */
export class OwnFaultWatch {
  readonly #alarm: OwnFaultAlarm | undefined;
  readonly #afterMs: number;
  readonly #failing = new Map<WatchedPart, Failing>();

  constructor(alarm?: OwnFaultAlarm) {
    this.#alarm = alarm;
    this.#afterMs = alarm?.afterMs ?? DEFAULT_AFTER_MS;
  }

  failed(part: WatchedPart, systemCode: string): void {
    const reason = part === "network" ? "OWN_NETWORK_FAILED" : "OWN_DNS_FAILED";
    const now = performance.now();
    const before = this.#failing.get(part);
    const isKnown = before !== undefined && now - before.lastAt < FORGOTTEN_AFTER_MS;
    const { firstAt, since, isReported } = isKnown ? before : { firstAt: now, since: new Date(), isReported: false };
    const fault = { reason, systemCode, since, lastingMs: now - firstAt } as const;
    const reports = !isReported && fault.lastingMs >= this.#afterMs;
    this.#failing.set(part, { ...fault, firstAt, lastAt: now, isReported: isReported || reports });
    if (reports) this.#alarm?.onFault(fault);
  }

  worked(part: WatchedPart): void {
    const fault = this.#failing.get(part);
    if (fault === undefined) return;
    this.#failing.delete(part);
    if (fault.isReported) this.#alarm?.onEnd(fault);
  }

  /** Returns the faults that are not over, the longest first. */
  current(): OwnFault[] {
    const now = performance.now();
    return [...this.#failing.values()]
      .filter(({ lastAt }) => now - lastAt < FORGOTTEN_AFTER_MS)
      .toSorted((a, b) => b.lastingMs - a.lastingMs)
      .map(({ reason, systemCode, since, lastingMs }) => ({ reason, systemCode, since, lastingMs }));
  }
}
