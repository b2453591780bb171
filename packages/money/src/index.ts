export { MAX_MINOR, readAmount, readMinor, type AmountFault, type AmountReading } from "./amount.ts";
export { currency, exponentOf, InvalidCurrencyError, isCurrency, type CurrencyCode } from "./currency.ts";
export { toDecimal, toWire, type WireNumber } from "./decimal.ts";
export { display, grouped } from "./display.ts";
export { money, type Money } from "./money.ts";
export { AmountLiteral, DuplicateFieldError, JSON_LIMITS, JsonTooComplexError, parseJson } from "./parse-json.ts";
export { parsePercent, percentOf, percentText, type Percent, type PercentReading } from "./percent.ts";
