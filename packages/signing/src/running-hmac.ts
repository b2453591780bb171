/** An HMAC whose message arrives in parts. */
export interface RunningHmac {
  /** Adds a part; strings count as UTF-8. */
  update(part: string | Uint8Array): unknown;
  /** Ends the message. */
  digest(): Uint8Array;
}
