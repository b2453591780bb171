import { createHmac, timingSafeEqual } from "node:crypto";

/** The name of the hidden field of every form. */
export const FORM_TOKEN = "formToken";

/** The name of the hidden field with the id of a form, which can be used once. */
export const FORM_ID = "formId";

/** Returns the token of a session's forms. It follows from the session's token, which no other site can read. */
export function formTokenOf(sessionToken: string): string {
  return createHmac("sha256", sessionToken).update("console form").digest("base64url");
}

/** Whether a form was made for this session. */
export function isFormOf(sessionToken: string, given: string | null): boolean {
  const [expected, sent] = [formTokenOf(sessionToken), given ?? ""].map((text) => Buffer.from(text));
  return sent!.length === expected!.length && timingSafeEqual(sent!, expected!);
}

/**
 * Whether a form comes from a page of this origin. Browsers send `Origin` with every POST, so a request without it is
 * refused.
 *
 * @param own the origin of the console: of `PUBLIC_URL`, or as the request names it
 */
export function isFromOwnPage(origin: string | undefined, own: string): boolean {
  return origin === own;
}

/** Returns the id of a sent form, or undefined unless it is a UUID. */
export function formIdIn(form: URLSearchParams): string | undefined {
  const id = form.get(FORM_ID) ?? "";
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id) ? id : undefined;
}
