import { element, fill } from "@collections/web-pages/browser";
import { COUNTRIES, phoneNumber } from "../data/countries.ts";
import { RefusedRequestError, send } from "../data/graphql.ts";
import { REQUEST_OTP, VERIFY_OTP } from "../data/operations.ts";
import { isUnauthenticated, lastRefreshToken, signIn } from "../data/session.ts";
import { Stored } from "../data/storage.ts";
import { uuid } from "../data/uuid.ts";
import { currentLocale, texts } from "../language/current.ts";
import { latinDigits } from "../language/digits.ts";
import { count } from "../language/formats.ts";
import { refusalWords } from "../ui/error-words.ts";
import { languageChoice } from "../ui/language-choice.ts";
import { faultBelow, field, form, working } from "../ui/parts.ts";
import type { Place, Screen } from "../ui/screen.ts";
import { showMessage } from "../ui/shell.ts";

const CODE_DIGITS = 6;
/** How long the user waits before the code can be sent again. */
const SEND_AGAIN_AFTER_S = 30;
const SECOND_MS = 1_000;
const USUAL_COUNTRY = "IN";
const INDIAN_ZONES = new Set(["Asia/Calcutta", "Asia/Kolkata"]);

const storedCountry = new Stored<string>("country");

/** What happens after the sign-in, and after a change of the language. */
export interface SignInActions {
  readonly enter: () => void;
  readonly redraw: () => void;
}

/** Creates the screen for sign-in, by phone number and one-time password or by an operator's access token. */
export function signInScreen(actions: SignInActions): Screen {
  return {
    title: texts().signIn.title,
    mark: true,
    open: (place) => askForPhone(place, actions),
  };
}

function askForPhone(place: Place, actions: SignInActions, typed = ""): void {
  const words = texts().signIn;
  const country = countrySelect();
  const phone = element("input", {
    id: "phone",
    type: "tel",
    autocomplete: "tel-national",
    inputmode: "tel",
    placeholder: "98000 00001",
    value: typed,
  });
  async function requestFirstCode(): Promise<void> {
    if (phone.value.trim() === "") return faultBelow(phone, words.phoneMissing);
    const number = phoneNumber(latinDigits(phone.value), country.value);
    if (number === undefined) return faultBelow(phone, words.phoneWrong);
    storedCountry.write(country.value);
    const result = await requestCode(number);
    if (result.code !== undefined) return faultBelow(phone, refusalWords(result));
    askForCode(place, actions, { typed: phone.value, number, otpId: result.otpId });
  }
  fill(
    place.main,
    languageChoice(actions.redraw),
    element(
      "div",
      { class: "welcome" },
      element("p", { class: "lead" }, words.lead),
      form(words.sendCode, requestFirstCode, field(words.country, country), field(words.phone, phone)),
    ),
    tokenInstead(actions.enter),
  );
  fill(place.actions);
}

/** Creates the list of countries with their calling codes. The country of the last sign-in is chosen. */
function countrySelect(): HTMLSelectElement {
  const names = new Intl.DisplayNames(currentLocale(), { type: "region" });
  const byName = new Intl.Collator(currentLocale()).compare;
  const stored = storedCountry.read();
  const chosen = stored !== undefined && COUNTRIES.has(stored) ? stored : countryOfPhone();
  const options = [...COUNTRIES]
    .map(([country, code]) => ({ country, text: `${names.of(country) ?? country} (+${code})` }))
    .toSorted((one, other) => byName(one.text, other.text))
    .map(({ country, text }) => element("option", { value: country, selected: country === chosen }, text));
  return element("select", { id: "country", autocomplete: "country" }, ...options);
}

/**
 * Returns the country of the phone: India in India's time zone, because many phones there have the locale en-US, else
 * the country of the first locale that names one.
 */
function countryOfPhone(): string {
  if (INDIAN_ZONES.has(new Intl.DateTimeFormat().resolvedOptions().timeZone)) return USUAL_COUNTRY;
  const regions = navigator.languages.map((locale) => new Intl.Locale(locale).region);
  return regions.find((region) => region !== undefined && COUNTRIES.has(region)) ?? USUAL_COUNTRY;
}

async function requestCode(phone: string) {
  const refreshToken = lastRefreshToken();
  const input = { idempotencyKey: uuid(), phone, ...(refreshToken !== undefined && { refreshToken }) };
  return (await send(REQUEST_OTP, { input })).result;
}

interface SentCode {
  /** The number as the user typed it. */
  readonly typed: string;
  /** The number in E.164. */
  readonly number: string;
  readonly otpId: string;
}

function askForCode(place: Place, actions: SignInActions, sent: SentCode): void {
  const words = texts().signIn;
  let { otpId } = sent;
  const code = element("input", {
    id: "code",
    class: "code",
    inputmode: "numeric",
    autocomplete: "one-time-code",
    maxlength: String(CODE_DIGITS),
  });
  async function verify(): Promise<void> {
    const digits = latinDigits(code.value);
    if (!/^\d{6}$/.test(digits)) return faultBelow(code, words.codeWrong(count(CODE_DIGITS)));
    const input = { idempotencyKey: uuid(), otpId, code: digits, deviceName: words.device };
    const { result } = await send(VERIFY_OTP, { input });
    if (result.code !== undefined) return faultBelow(code, refusalWords(result));
    await signIn(result.tokens);
    actions.enter();
  }
  const submitted = form(words.submit, verify, field(words.code, code));
  // Submits the form as soon as the user has typed the last digit.
  code.addEventListener("input", () => code.value.length === CODE_DIGITS && submitted.requestSubmit());
  const again = sendAgainButton(place.signal, async (pressed) => {
    const result = await requestCode(sent.number);
    if (result.code !== undefined) return faultBelow(pressed, refusalWords(result));
    ({ otpId } = result);
    code.value = "";
    showMessage(words.sentAgain);
  });
  fill(
    place.main,
    element(
      "div",
      { class: "welcome" },
      element("p", { class: "lead" }, words.codeSent(sent.number)),
      element("p", { class: "hint" }, words.sandbox),
      submitted,
      element("div", { class: "press" }, again),
      element(
        "button",
        { type: "button", class: "plain", click: () => askForPhone(place, actions, sent.typed) },
        words.otherNumber,
      ),
    ),
  );
  code.focus();
}

/** Creates the button that sends the code again. After each sending it is disabled for a while, and counts down. */
function sendAgainButton(signal: AbortSignal, sendAgain: (pressed: HTMLButtonElement) => Promise<void>) {
  const words = texts().signIn;
  const again = element("button", { type: "button", class: "plain" });
  let againAtMs = 0;
  let timer: number | undefined;
  const countDown = () => {
    // Computed from the clock, because a browser in the background delays timers.
    const left = Math.ceil((againAtMs - Date.now()) / SECOND_MS);
    again.disabled = left > 0;
    again.textContent = left > 0 ? words.sendAgainIn(count(left)) : words.sendAgain;
    if (left > 0) timer = setTimeout(countDown, SECOND_MS);
  };
  const restart = () => {
    clearTimeout(timer);
    againAtMs = Date.now() + SEND_AGAIN_AFTER_S * SECOND_MS;
    countDown();
  };
  signal.addEventListener("abort", () => clearTimeout(timer));
  again.addEventListener("click", () => void working(again, () => sendAgain(again).finally(restart)));
  restart();
  return again;
}

function tokenInstead(enter: () => void): HTMLElement {
  const words = texts().signIn;
  const token = element("input", { id: "token", autocomplete: "off", spellcheck: "false", placeholder: "fpt_…" });
  async function useToken(): Promise<void> {
    const accessToken = token.value.trim();
    if (accessToken === "") return faultBelow(token, words.tokenMissing);
    try {
      await signIn({ accessToken });
    } catch (error) {
      if (!isUnauthenticated(error) || !(error instanceof RefusedRequestError)) throw error;
      return faultBelow(token, words.tokenWrong);
    }
    enter();
  }
  return element(
    "details",
    { class: "other-way" },
    element("summary", {}, words.tokenInstead),
    form(words.useToken, useToken, field(words.token, token, words.tokenHint)),
  );
}
