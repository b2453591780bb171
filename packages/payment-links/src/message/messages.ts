import type { Mail } from "@collections/messaging";
import { display, type Money } from "@collections/money";

/** The content of the message that carries a link. */
export interface LinkMessage {
  readonly borrowerName: string;
  readonly lenderName: string;
  readonly amount: Money;
  /** A URL that `readMintAnswer` has checked. */
  readonly url: string;
  /** A BCP 47 tag, for the format of the amount. */
  readonly locale?: string;
}

/**
 * Returns the e-mail that carries a link, without its recipient. The names are escaped and put on one line, so that
 * they cannot contain markup or line breaks.
 *
 * @example
 * const amount = money(250_000n, currency("INR"));
 * const url = "https://pay.example.com/plink_77";
 * const mail = linkEmail({ borrowerName: "Asha Rao", lenderName: "Acme Finance", amount, url, locale: "en-IN" });
 */
export function linkEmail(message: LinkMessage): Pick<Mail, "subject" | "text"> & { readonly html: string } {
  const { borrowerName, lenderName, amount, url } = textsOf(message);
  const [greeting, request, closing] = [
    `Dear ${borrowerName},`,
    `${lenderName} asks you to pay ${amount}. You can pay here:`,
    `You pay ${lenderName} directly. If you have paid already, please ignore this message.`,
  ];
  const link = escapeHtml(url);
  const html = [
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>${escapeHtml(lenderName)}</title><body>`,
    `<p>${escapeHtml(greeting)}</p>`,
    `<p>${escapeHtml(request)}</p>`,
    `<p><a href="${link}">${link}</a></p>`,
    `<p>${escapeHtml(closing)}</p>`,
    `</body></html>`,
  ].join("\n");
  return {
    subject: `Payment of ${amount} to ${lenderName}`,
    text: [greeting, request, url, closing].join("\n\n"),
    html,
  };
}

/**
 * Returns the texts for {{1}} to {{4}} of the WhatsApp template's body: borrower, lender, amount, URL. The URL is in
 * the body because the button of a template accepts only the suffix of a URL that Meta has approved.
 *
 * @example
 * const amount = money(250_000n, currency("INR"));
 * const url = "https://pay.example.com/plink_77";
 * const parameters = whatsappParameters({ borrowerName: "Asha Rao", lenderName: "Acme Finance", amount, url });
 */
export function whatsappParameters(message: LinkMessage): string[] {
  const { borrowerName, lenderName, amount, url } = textsOf(message);
  return [borrowerName, lenderName, amount, url];
}

function textsOf({ borrowerName, lenderName, amount, url, locale }: LinkMessage) {
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
