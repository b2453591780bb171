import type { FallbackBank } from "@collections/lenders";
import { Refusal } from "./refusal.ts";

const EXAMPLE = "accountNumber=50100012345678,ifsc=HDFC0000123,accountName=Acme Finance,bankName=HDFC Bank";

/** A bank account as `name=value` pairs with commas, or as a JSON object; its values are judged by the registration. */
export function readBank(text: string): FallbackBank {
  const pairs = text.trim().startsWith("{") ? fromJson(text) : fromPairs(text);
  if (!pairs) throw new Refusal("INVALID_BANK", `Write the bank account as ${EXAMPLE}.`);
  return pairs as unknown as FallbackBank;
}

function fromJson(text: string): object | undefined {
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}

function fromPairs(text: string): object | undefined {
  const pairs = text.split(/,(?=\s*[A-Za-z]+\s*=)/).map((pair) => {
    const equals = pair.indexOf("=");
    return equals < 1 ? undefined : [pair.slice(0, equals).trim(), pair.slice(equals + 1).trim()];
  });
  return pairs.every((pair) => pair !== undefined) ? Object.fromEntries(pairs) : undefined;
}
