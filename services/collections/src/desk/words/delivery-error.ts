/** The code with which the error of a delivery begins, or null, and the sentence behind it. */
export interface DeliveryError {
  readonly code: string | null;
  readonly sentence: string;
}

/** Divides the error of a delivery, such as `CONNECTION_REFUSED: The connection was refused.`, into code and sentence. */
export function deliveryErrorOf(error: string): DeliveryError {
  const [, code = null, sentence = error] = /^([A-Z][A-Z0-9_]+): (.*)$/s.exec(error) ?? [];
  return { code, sentence };
}
