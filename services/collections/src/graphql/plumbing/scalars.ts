import { isCurrency } from "@collections/money";
import { badInput } from "./client-error.ts";
import { builder } from "./builder.ts";

const ISO_DAY = /^\d{4}-\d{2}-\d{2}$/;
const ISO_DAY_CHARS = "2026-11-20".length;
const ISO_DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

builder.scalarType("CurrencyCode", {
  description: "An ISO 4217 currency code of three capital letters, such as INR.",
  serialize: String,
  parseValue(value) {
    if (typeof value === "string" && isCurrency(value)) return value;
    throw badInput("Expected a currency of ISO 4217 in capitals, such as INR.");
  },
});

builder.scalarType("Date", {
  description: "A calendar day, such as 2026-11-20.",
  serialize: String,
  parseValue(value) {
    if (typeof value === "string" && isDay(value)) return value;
    throw badInput("Expected a day such as 2026-11-20.");
  },
});

builder.scalarType("DateTime", {
  description: "A time in the format of RFC 3339, such as 2026-11-20T09:40:55Z. Answers are in UTC.",
  serialize: (value) => value.toISOString(),
  parseValue(value) {
    if (typeof value === "string" && ISO_DATE_TIME.test(value) && isDay(value.slice(0, ISO_DAY_CHARS))) {
      const at = new Date(value);
      if (!Number.isNaN(at.getTime())) return at;
    }
    throw badInput("Expected a time with its offset, such as 2026-11-20T09:40:55Z.");
  },
});

builder.scalarType("URL", {
  description: "An absolute URL.",
  serialize: String,
  parseValue(value) {
    if (typeof value === "string" && URL.canParse(value)) return value;
    throw badInput("Expected an absolute URL.");
  },
});

builder.scalarType("UUID", {
  description: "A UUID that the client creates. Version 7 is best, because its values are in the order of time.",
  serialize: String,
  parseValue(value) {
    if (typeof value === "string" && UUID.test(value)) return value.toLowerCase();
    throw badInput("Expected a UUID such as 0192f0a1-7c3e-7d42-9c55-0b2f6a1d8e01.");
  },
});

/** Whether a text is a day that exists. JavaScript reads the 30th of February as a day of March. */
function isDay(text: string): boolean {
  const at = ISO_DAY.test(text) ? new Date(`${text}T00:00:00Z`) : undefined;
  return at !== undefined && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
}
