/** An HMAC over a message that arrives in parts. */
export interface RunningHmac {
  /** Adds a part. Strings are encoded as UTF-8. */
  update(part: string | Uint8Array): unknown;
  /** Ends the message and returns its HMAC. */
  digest(): Uint8Array;
}
