/**
 * Why a request is answered 5xx, in words that may be shown to the service.
 *
 * @example
 * const onError = (error: unknown) => {
 *   const code = error instanceof ReceiverError ? error.code : "NOT_APPLIED";
 *   console.error(`A webhook was not taken, and comes again: ${code}`, error);
 * };
 */
export class ReceiverError extends Error {
  override readonly name = "ReceiverError";
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.status = status;
    this.code = code;
  }
}
