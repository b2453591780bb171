import type { Mail } from "@collections/messaging";
import { display, type Money } from "@collections/money";
import { chooseLanguage, type LanguagePreference } from "./choose-language.ts";
import { LINK_EMAIL_TEXTS } from "./texts/catalogue.ts";

/** The content of the message that carries a link. */
export interface LinkMessage {
  readonly borrowerName: string;
  readonly lenderName: string;
  readonly amount: Money;
  /** A URL that `readMintAnswer` has checked. */
  readonly url: string;
}

const LANGUAGES = Object.keys(LINK_EMAIL_TEXTS) as [string, ...string[]];

/**
 * Returns the e-mail that carries a link, without its recipient. It is written in the first preferred language that has
 * texts, or else in English. The names are escaped and put on one line, so that they cannot contain markup or line breaks.
 *
 * @example
 * const amount = money(250_000n, currency("INR"));
 * const url = "https://pay.example.com/plink_77";
 * const message = { borrowerName: "Asha Rao", lenderName: "Acme Finance", amount, url };
 * const mail = linkEmail(message, { tags: ["hi-IN"], country: "IN" });
 */
export function linkEmail(
  message: LinkMessage,
  preference: LanguagePreference = { tags: [] },
): Pick<Mail, "subject" | "text"> & { readonly html: string } {
  const { language, locale } = chooseLanguage(LANGUAGES, preference);
  const texts = LINK_EMAIL_TEXTS[language]!;
  const { url, ...facts } = factsOf(message, locale);
  const [greeting, request, closing] = [texts.greeting(facts), texts.request(facts), texts.closing(facts)];
  const link = escapeHtml(url);
  const html = [
    `<!doctype html><html lang="${language}"><meta charset="utf-8"><title>${escapeHtml(facts.lenderName)}</title><body>`,
    `<p>${escapeHtml(greeting)}</p>`,
    `<p>${escapeHtml(request)}</p>`,
    `<p><a href="${link}">${link}</a></p>`,
    `<p>${escapeHtml(closing)}</p>`,
    `</body></html>`,
  ].join("\n");
  return {
    subject: texts.subject(facts),
    text: [greeting, request, url, closing].join("\n\n"),
    html,
  };
}

/**
 * Returns the texts for {{1}} to {{4}} of the WhatsApp template's body: borrower, lender, amount, URL. The URL is in
 * the body because the button of a template accepts only the suffix of a URL that Meta has approved. `locale` is a BCP 47
 * tag for the format of the amount, in the language of the template.
 *
 * @example
 * const amount = money(250_000n, currency("INR"));
 * const url = "https://pay.example.com/plink_77";
 * const message = { borrowerName: "Asha Rao", lenderName: "Acme Finance", amount, url };
 * const parameters = whatsappParameters(message, "hi-IN");
 */
export function whatsappParameters(message: LinkMessage, locale?: string): string[] {
  const { borrowerName, lenderName, amount, url } = factsOf(message, locale);
  return [borrowerName, lenderName, amount, url];
}

function factsOf({ borrowerName, lenderName, amount, url }: LinkMessage, locale?: string) {
  return {
    borrowerName: onOneLine(borrowerName),
    lenderName: onOneLine(lenderName),
    amount: onOneLine(display(amount, locale)),
    url,
  };
}

function onOneLine(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\s]+/gu, " ")
    .trim();
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}
