import { element, fill } from "@collections/web-pages/browser";
import { RefusedRequestError, send } from "../data/graphql.ts";
import { REQUEST_OTP, VERIFY_OTP } from "../data/operations.ts";
import { faultBelow, field, form } from "../ui/parts.ts";
import type { Place, Screen } from "../ui/screen.ts";
import { isUnauthenticated, lastRefreshToken, signIn } from "../data/session.ts";
import { uuid } from "../data/uuid.ts";

const DEVICE_NAME = "Browser";
const CODE_DIGITS = 6;

/**
 * Creates the screen for sign-in, by phone number and one-time password or by an operator's access token. Calls `enter`
 * after the sign-in.
 */
export function signInScreen(enter: () => void): Screen {
  return {
    title: "Sign in",
    mark: true,
    open: (place) => askForPhone(place, enter),
  };
}

function askForPhone(place: Place, enter: () => void, typed = ""): void {
  const phone = element("input", {
    id: "phone",
    type: "tel",
    autocomplete: "tel",
    inputmode: "tel",
    placeholder: "+91 98000 00001",
    value: typed,
  });
  async function requestCode(): Promise<void> {
    const number = phone.value.replaceAll(/[\s()-]/g, "");
    if (number === "") return faultBelow(phone, "Type your number with + and the country code.");
    const refreshToken = lastRefreshToken();
    const input = { idempotencyKey: uuid(), phone: number, ...(refreshToken !== undefined && { refreshToken }) };
    const { result } = await send(REQUEST_OTP, { input });
    if (result.code !== undefined) return faultBelow(phone, result.message);
    askForCode(place, enter, phone.value, result.otpId);
  }
  fill(
    place.main,
    element(
      "div",
      { class: "welcome" },
      element("p", { class: "lead" }, "Your cases, a payment link at the door, and your own money."),
      form("Send me a code", requestCode, field("Mobile number", phone)),
    ),
    tokenInstead(enter),
  );
}

function askForCode(place: Place, enter: () => void, phone: string, otpId: string): void {
  const code = element("input", {
    id: "code",
    class: "code",
    inputmode: "numeric",
    autocomplete: "one-time-code",
    maxlength: String(CODE_DIGITS),
    placeholder: "••••••",
  });
  async function verify(): Promise<void> {
    if (!/^\d{6}$/.test(code.value)) return faultBelow(code, `The code has ${CODE_DIGITS} digits.`);
    const input = { idempotencyKey: uuid(), otpId, code: code.value, deviceName: DEVICE_NAME };
    const { result } = await send(VERIFY_OTP, { input });
    if (result.code !== undefined) return faultBelow(code, result.message);
    await signIn(result.tokens);
    enter();
  }
  const submitted = form("Sign in", verify, field("Code", code));
  // Submits the form as soon as the user has typed the last digit.
  code.addEventListener("input", () => code.value.length === CODE_DIGITS && submitted.requestSubmit());
  fill(
    place.main,
    element(
      "div",
      { class: "welcome" },
      element("p", { class: "lead" }, "If you are registered, a code is on its way to ", element("b", {}, phone), "."),
      element("p", { class: "hint" }, "This is a sandbox: the code is in the service’s log."),
      submitted,
      element(
        "button",
        { type: "button", class: "plain", click: () => askForPhone(place, enter, phone) },
        "Use another number",
      ),
    ),
  );
  code.focus();
}

function tokenInstead(enter: () => void): HTMLElement {
  const token = element("input", { id: "token", autocomplete: "off", spellcheck: "false", placeholder: "fpt_…" });
  async function useToken(): Promise<void> {
    const accessToken = token.value.trim();
    if (accessToken === "") return faultBelow(token, "Paste the token first.");
    try {
      await signIn({ accessToken });
    } catch (error) {
      if (!isUnauthenticated(error) || !(error instanceof RefusedRequestError)) throw error;
      return faultBelow(token, "This token is not valid, or has expired.");
    }
    enter();
  }
  return element(
    "details",
    { class: "other-way" },
    element("summary", {}, "Use an access token instead"),
    form(
      "Use this token",
      useToken,
      field("Access token", token, "An operator makes a token with: pnpm collections field-partner token fp_…"),
    ),
  );
}
