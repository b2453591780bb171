import type { Fallback } from "../data/answers.ts";
import { copyButton } from "../ui/copying.ts";
import { element } from "@collections/web-pages/browser";
import { facts } from "../ui/parts.ts";
import { codePicture } from "./picture-code.ts";

/** Shows how the borrower can pay the lender without a link: by a code to scan, or by bank transfer. */
export function fallbackView({ upiUri, qrSvg, bankAccount, instructions }: Fallback): Node[] {
  const parts = [
    qrSvg !== null &&
      element(
        "div",
        { class: "scan" },
        codePicture(qrSvg, "QR code for any UPI app"),
        element("p", { class: "hint" }, "Scan with any UPI app"),
      ),
    upiUri !== null && element("p", { class: "line" }, upiIdOf(upiUri), copyButton(upiIdOf(upiUri), "the UPI id")),
    bankAccount !== null && element("h3", {}, "Or by bank transfer"),
    bankAccount !== null && bankView(bankAccount),
    instructions !== null && element("p", { class: "hint" }, instructions),
  ];
  const shown = parts.filter((part) => part !== false);
  return shown.length > 0 ? shown : [element("p", { class: "hint" }, "The lender has registered no other way to pay.")];
}

function bankView(account: NonNullable<Fallback["bankAccount"]>): HTMLElement {
  const { accountNumber, accountName, bankName, ifsc, swift } = account;
  return element(
    "div",
    {},
    facts(
      accountName !== null && ["Name", accountName],
      ["Account", element("span", { class: "line" }, accountNumber, copyButton(accountNumber, "the account number"))],
      bankName !== null && ["Bank", bankName],
      ifsc !== null && ["IFSC", ifsc],
      swift !== null && ["SWIFT", swift],
    ),
  );
}

/** Returns the payee's id in `upi://pay?pa=acme@okbank&…`. */
function upiIdOf(upiUri: string): string {
  return new URLSearchParams(upiUri.split("?")[1]).get("pa") ?? upiUri;
}
