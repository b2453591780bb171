import type { FallbackBank } from "@collections/lenders";
import { Refusal } from "../terminal/refusal.ts";

const EXAMPLE = "accountNumber=50100012345678,ifsc=HDFC0000123,accountName=Acme Finance,bankName=HDFC Bank";

/**
 * Reads a bank account in one of three forms: `name=value` pairs that are separated by commas, a JSON object, or words
 * (the bank's name, the account number and the IFSC, in any order). Does not check the values: the lender's
 * registration does.
 */
export function readBank(text: string): FallbackBank {
  const trimmed = text.trim();
  const fields = trimmed.startsWith("{")
    ? fromJson(trimmed)
    : trimmed.includes("=")
      ? fromPairs(trimmed)
      : fromWords(trimmed);
  if (!fields) throw new Refusal("INVALID_BANK", `Write the bank account as ${EXAMPLE}.`);
  return fields as unknown as FallbackBank;
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

function fromWords(text: string): object | undefined {
  const words = text.split(/[\s,;:/|]+/).filter((word) => word !== "");
  const ifsc = words.find((word) => /^[A-Z]{4}0[A-Z0-9]{6}$/.test(word));
  const accountNumber = words.find((word) => word !== ifsc && /^[A-Z]*\d{6,}[A-Z0-9]*$/.test(word));
  if (accountNumber === undefined) return undefined;
  const bankName = words.filter((word) => word !== ifsc && word !== accountNumber).join(" ");
  return { accountNumber, ...(ifsc !== undefined && { ifsc }), ...(bankName !== "" && { bankName }) };
}
