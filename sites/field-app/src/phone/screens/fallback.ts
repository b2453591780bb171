import type { Fallback, Money } from "../data/answers.ts";
import { copyButton } from "../ui/copying.ts";
import { element } from "@collections/web-pages/browser";
import { texts } from "../language/current.ts";
import { money } from "../language/formats.ts";
import { facts } from "../ui/parts.ts";
import { codeOf } from "./picture-code.ts";
import { upiRequest } from "./upi-request.ts";

/**
 * Shows how the borrower can pay the lender without a link: by a code to scan, or by bank transfer. The code asks for
 * `amount`; without an amount, the borrower enters it. The phone draws the code, so that it needs no network.
 */
export function fallbackView({ upiUri, bankAccount, instructions }: Fallback, amount?: Money): Node[] {
  const words = texts().fallback;
  const request = upiUri === null ? undefined : upiRequest(upiUri, amount);
  const asked = request?.hasAmount === true && amount ? money(amount) : undefined;
  const parts = [
    request !== undefined &&
      element(
        "div",
        { class: "scan" },
        codeOf(request.uri, asked === undefined ? words.codeWithoutAmount : words.code(asked)),
        element("p", { class: "hint" }, asked === undefined ? words.scanWithoutAmount : words.scan(asked)),
      ),
    request !== undefined &&
      element("p", { class: "line" }, request.payee, copyButton(request.payee, texts().copy.upiId)),
    bankAccount !== null && element("h3", {}, words.bank),
    bankAccount !== null && bankView(bankAccount),
    instructions !== null && element("p", { class: "hint" }, instructions),
  ];
  const shown = parts.filter((part) => part !== false);
  return shown.length > 0 ? shown : [element("p", { class: "hint" }, words.none)];
}

const GROUP_CHARS = 4;

/** Shows a number in groups of four, so that it is easy to read and breaks between groups only. */
function inGroups(number: string): HTMLElement {
  const groups = Array.from({ length: Math.ceil(number.length / GROUP_CHARS) }, (_, index) =>
    element("span", {}, number.slice(index * GROUP_CHARS, (index + 1) * GROUP_CHARS)),
  );
  return element("span", { class: "groups" }, ...groups);
}

function bankView(account: NonNullable<Fallback["bankAccount"]>): HTMLElement {
  const { accountNumber, accountName, bankName, ifsc, swift } = account;
  const words = texts().fallback;
  const copied = copyButton(accountNumber, texts().copy.accountNumber);
  return element(
    "div",
    {},
    facts(
      accountName !== null && [words.name, accountName],
      [words.account, element("span", { class: "line" }, inGroups(accountNumber), copied)],
      bankName !== null && [words.bankName, bankName],
      ifsc !== null && [words.ifsc, ifsc],
      swift !== null && [words.swift, swift],
    ),
  );
}
