const IDENTITY = "aadhaar|aadhar|adhaar|pan|ssn|socialsecurity|passport|voterid|votercard|drivinglicen[cs]e|nationalid";
const REFUSED_NAMES: readonly (readonly [kind: string, name: RegExp])[] = [
  ["identity numbers", new RegExp(`^(?:${IDENTITY})(?:card)?(?:no|num|number|id)?$`)],
  ["identity numbers", /^permanentaccount(?:no|number)$/],
  ["card data", /^(?:credit|debit|atm|payment)?card(?:no|num|number|cvv|expiry)?$/],
  ["card data", /^(?:cvv|cvv2|cvc|cvc2)$/],
  ["dates of birth", /^(?:dob|birthda(?:te|y)|birthdt|dateofbirth)$/],
];
const OWNERS = /^(?:borrower|customer|applicant)s?(?=.)/;

/**
 * Why a lender's own pair is not taken: national identity numbers, card numbers and dates of birth are never kept
 * (contract: POST cases: import). By its name, whatever its spelling, or by a value that can be the number of a card.
 * Undefined when there is nothing against it.
 */
export function refusalOfPair(name: string, value: unknown): string | undefined {
  const plain = name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, "");
  const refused = REFUSED_NAMES.find(([, pattern]) => pattern.test(plain) || pattern.test(plain.replace(OWNERS, "")));
  if (refused) return `No ${refused[0]} are kept; leave this pair out.`;
  if (typeof value !== "string" || !mayBeCardNumber(value)) return undefined;
  return "The value can be the number of a card, which is not kept; leave it out, or write another number with a letter.";
}

/** No card begins with 0 or 1, and milliseconds since 1970 begin with 1. */
function mayBeCardNumber(value: string): boolean {
  const digits = value.replaceAll(/[\s\p{Pd}]/gu, "");
  return /^[2-9]\d{12,18}$/.test(digits) && luhnSum(digits) % 10 === 0;
}

/** Every second digit from the right counts twice, by its sum of digits. */
function luhnSum(digits: string): number {
  const fromTheRight = Array.from(digits, Number).toReversed();
  return fromTheRight.reduce((sum, digit, index) => {
    const value = index % 2 === 0 ? digit : 2 * digit;
    return sum + (value > 9 ? value - 9 : value);
  }, 0);
}
