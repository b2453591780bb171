import type { ServerResponse } from "node:http";
import { AmountError, toText } from "./amount.ts";
import type { MintedLink } from "./mint-endpoint.ts";
import { NothingToPayError, type Capture, type PayDesk } from "./pay-desk.ts";
import type { ReceivedRequest } from "./signer.ts";

/**
 * Serves the lender's pay page: GET shows the amount to pay; POST pays the form's `amount`, or the whole amount without
 * one. Returns the capture if a payment was made.
 */
export function servePayPage(
  request: ReceivedRequest,
  response: ServerResponse,
  link: MintedLink | undefined,
  desk: PayDesk,
): Capture | null {
  if (link === undefined) {
    page(response, 404, "No such link", "<p>This payment link does not exist. Ask your lender for a new one.</p>");
    return null;
  }
  if (request.method === "GET") {
    showLink(response, 200, link);
    return null;
  }
  if (request.method !== "POST") {
    response.writeHead(405, { Allow: "GET, POST" }).end();
    return null;
  }
  const amount = new URLSearchParams(request.rawBody.toString("utf8")).get("amount");
  try {
    const capture = amount === null ? desk.capture(link.linkId) : desk.capture(link.linkId, amount);
    response.writeHead(303, { Location: `/pay/${link.linkId}` }).end();
    return capture;
  } catch (error) {
    if (!(error instanceof AmountError || error instanceof NothingToPayError)) throw error;
    showLink(response, 422, link, error.message);
    return null;
  }
}

function showLink(response: ServerResponse, status: number, link: MintedLink, problem?: string): void {
  const { currency, amountMinor, capturedMinor } = link;
  const open = amountMinor - capturedMinor;
  const paid = capturedMinor > 0n ? `<p class="paid">Received: ${currency} ${toText(capturedMinor, currency)}</p>` : "";
  const form = `<form method="post"><label>Amount in ${currency}
    <input name="amount" inputmode="decimal" value="${toText(open, currency)}" autocomplete="off"></label>
    <button>Pay</button></form>`;
  page(
    response,
    status,
    open > 0n ? `${currency} ${toText(open, currency)}` : "Thank you",
    `<p>${escaped(link.borrowerName)}, loan ${escaped(link.sourceLoanNumber)}</p><p>${escaped(link.description)}</p>
    ${problem === undefined ? "" : `<p class="problem">${escaped(problem)}</p>`}${paid}${open > 0n ? form : ""}`,
  );
}

function page(response: ServerResponse, status: number, heading: string, content: string): void {
  response.writeHead(status, { "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store" })
    .end(`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Payment</title><style>
  body { font: 1rem/1.5 system-ui, sans-serif; background: #f3f4f7; color: #1d2433 }
  main { background: #fff; border-radius: 1rem; padding: 2rem; max-width: 22rem; margin: 10vh auto }
  h1 { margin: 0 0 1rem } p { margin: .4rem 0 } .paid { color: #0a7d45 } .problem { color: #b3261e }
  input, button { font: inherit; width: 100%; box-sizing: border-box; padding: .7rem; margin-top: .6rem }
  input, button { border-radius: .5rem; border: 1px solid #c4c9d4 }
  button { background: #2450d8; color: #fff; cursor: pointer }
</style><main><h1>${heading}</h1>${content}</main></html>`);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
