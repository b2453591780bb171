/**
 * The reason for a 5xx answer. The message is sent to the service, so it contains nothing confidential.
 *
 * @example
 * const onError = (error: unknown) => {
 *   const code = error instanceof ReceiverError ? error.code : "NOT_APPLIED";
 *   console.error(`A webhook was not processed. The service will send it again: ${code}`, error);
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
