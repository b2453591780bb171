import type { Booking } from "@collections/bookings";
import { publicId } from "@collections/database";
import { type CurrencyCode, toDecimal } from "@collections/money";
import type { StoredEvent } from "@collections/webhooks";

/** The kind of the event that is emitted for each booking. */
export const KIND = "payment.collected";

/**
 * A field of the event's body, with two functions: `said` returns the value in the event, `booked` the value in the
 * booking.
 */
interface Field {
  readonly name: string;
  readonly said: (body: JsonObject, data: JsonObject) => unknown;
  readonly booked: (booking: Booking, event: StoredEvent) => unknown;
}

/** The fields of an event that are compared with its booking. contract: Event kinds */
const FIELDS: readonly Field[] = [
  inBody("eventId", (_, { eventId }) => publicId("evt", eventId)),
  inBody("kind", () => KIND),
  inBody("sourceLoanNumber", ({ sourceLoanNumber }) => sourceLoanNumber),
  inBody("caseId", ({ caseId }) => publicId("case", caseId)),
  inBody("cycle", ({ cycle }) => cycle),
  inBody("sequence", ({ sequence }) => Number(sequence)),
  inBody("currency", ({ currency }) => currency),
  inBody("totalCollected", ({ totalCollectedAfterMinor, currency }) => major(totalCollectedAfterMinor, currency)),
  inBody("outstandingAfter", ({ outstandingAfterMinor, currency }) => major(outstandingAfterMinor, currency)),
  inData("reference", ({ reference }) => reference),
  inData("amount", ({ amountMinor, currency }) => major(amountMinor, currency)),
  inData("excessAmount", ({ excessMinor, currency }) => major(excessMinor, currency)),
  {
    name: "data.inBalance",
    // Events of earlier versions have no `inBalance` field. Their payments were never included in a balance, so an
    // absent field counts as 0.
    said: (_, { inBalance = 0 }) => inBalance,
    booked: ({ inBalanceMinor, currency }) => major(inBalanceMinor ?? 0n, currency),
  },
  inData("mode", ({ mode }) => mode),
  inData("paidAt", ({ paidAt }) => paidAt.toISOString()),
  inData("linkId", ({ linkId }) => linkId),
  {
    name: "data.partOf",
    // Events of earlier versions have no `partOf` field.
    said: (_, { partOf = null }) => partOf,
    booked: ({ partOf }) => partOf,
  },
  inData("visitId", ({ visitId }) => visitId && publicId("vis", visitId)),
  inData("attribution", ({ attribution }) => attribution),
];

function inBody(name: string, booked: Field["booked"]): Field {
  return { name, said: (body) => body[name], booked };
}

function inData(name: string, booked: Field["booked"]): Field {
  return { name: `data.${name}`, said: (_, data) => data[name], booked };
}

/** Returns a clause, such as `cycle is 2 in the event, 1 in the booking`, for each field that differs. */
export function differencesBetween(booking: Booking, event: StoredEvent): string[] {
  const body = bodyOf(event.body);
  if (body === undefined) return ["the event's body is not a JSON object"];
  const data = dataOf(body);
  const differences: string[] = [];
  if (event.stream !== booking.sourceLoanNumber || event.sequence !== booking.sequence) {
    const place = `sequence ${event.sequence} of loan ${event.stream}`;
    differences.push(`the event's row is at ${place}, but the booking is at sequence ${booking.sequence}`);
  }
  for (const { name, said, booked } of FIELDS) {
    const [inEvent, inBooking] = [said(body, data), booked(booking, event)];
    if (inEvent === inBooking || (name === "data.paidAt" && instant(inEvent) === inBooking)) continue;
    differences.push(`${name} is ${shown(inEvent)} in the event, ${shown(inBooking)} in the booking`);
  }
  return differences;
}

/** Returns the payment's reference from the event's body. In a forged event it may be any JSON value. */
export function referenceIn(event: StoredEvent): unknown {
  return dataOf(bodyOf(event.body))["reference"];
}

type JsonObject = Readonly<Record<string, unknown>>;

function bodyOf(body: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

function dataOf(body: JsonObject | undefined): JsonObject {
  return Object(body?.["data"]) as JsonObject;
}

function major(minor: bigint, currency: CurrencyCode): number {
  return Number(toDecimal(minor, currency));
}

/** Normalises a time, so that the same time in two formats counts as equal. */
function instant(value: unknown): unknown {
  const time = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? value : new Date(time).toISOString();
}

/** Returns a value as JSON, for a message. */
export function shown(value: unknown): string {
  return value === undefined ? "absent" : JSON.stringify(value);
}
