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
 * Returns why a name-value pair of a lender's metadata is rejected, or undefined if it is accepted. National identity
 * numbers, card numbers and dates of birth are never stored (contract: POST cases: import). They are detected by the
 * name of the pair in any spelling, or by a value that may be a card number.
 */
export function refusalOfPair(name: string, value: unknown): string | undefined {
  const plain = name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, "");
  const refused = REFUSED_NAMES.find(([, pattern]) => pattern.test(plain) || pattern.test(plain.replace(OWNERS, "")));
  if (refused) return `The service does not store ${refused[0]}; leave this pair out.`;
  if (typeof value !== "string" || !mayBeCardNumber(value)) return undefined;
  return "The value may be a card number, which the service does not store; leave the pair out, or add a letter to the value.";
}

/**
 * Tells whether a value may be a card number. Card numbers do not begin with 0 or 1, so times in milliseconds since
 * 1970, which begin with 1, are accepted.
 */
function mayBeCardNumber(value: string): boolean {
  const digits = value.replaceAll(/[\s\p{Pd}]/gu, "");
  return /^[2-9]\d{12,18}$/.test(digits) && luhnSum(digits) % 10 === 0;
}

/** Computes the Luhn checksum: every second digit from the right is doubled, and its digits are added. */
function luhnSum(digits: string): number {
  const fromTheRight = Array.from(digits, Number).toReversed();
  return fromTheRight.reduce((sum, digit, index) => {
    const value = index % 2 === 0 ? digit : 2 * digit;
    return sum + (value > 9 ? value - 9 : value);
  }, 0);
}
