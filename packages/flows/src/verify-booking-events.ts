import { type EntityManager, publicId, readSnapshot } from "@collections/database";
import { type Booking, bookingPage, bookingsFor } from "@collections/ledger";
import { type CurrencyCode, toDecimal } from "@collections/money";
import { eventPage, eventsAt, eventsKeptFrom, holdEvents, type StoredEvent } from "@collections/webhooks";

/** A booking and its event that do not say the same, or one without the other. */
export interface BookingEventProblem {
  readonly code: "EVENT_UNLIKE_BOOKING" | "EVENT_MISSING" | "EVENT_WITHOUT_BOOKING";
  readonly table: "event" | "payment_booking";
  readonly id: string;
  readonly lenderId: string;
  readonly detail: string;
}

/** How many rows to read at a time, and how many may wait for their counterpart. */
export interface BookingEventOptions {
  readonly page?: number;
  readonly maxWaiting?: number;
}

const KIND = "payment.collected";
const BEFORE_ALL_IDS = "00000000-0000-0000-0000-000000000000";
const PAGE = 1_000;
/** Two processes that write at once leave ids in another order, by milliseconds. */
const MAX_WAITING = 4 * PAGE;
const MAX_PROBLEMS = 1_000;

/**
 * Compares each booking of a lender with the body of its `payment.collected` event, and finds either without the other.
 * A booking and its event get their ids one after the other, so both tables are read once, in the order of ids, and
 * paired in memory that does not grow with them. What stays without a counterpart is looked up by its key.
 */
export async function verifyBookingEvents(
  em: EntityManager,
  lenderId: string,
  { page = PAGE, maxWaiting = MAX_WAITING }: BookingEventOptions = {},
): Promise<{ problems: BookingEventProblem[]; total: number }> {
  // The events of older bookings may be gone. An older event that is still kept finds its booking by its key.
  const keptFrom = await eventsKeptFrom(em);
  const pairs = new Pairs(em, lenderId, keptFrom);
  const bookings = new Pages(
    (after) => bookingPage(em, lenderId, after, page),
    ({ id }) => id,
    page,
    keptFrom,
  );
  const events = new Pages(
    (after) => eventPage(em, lenderId, KIND, after, page),
    ({ eventId }) => eventId,
    page,
    BEFORE_ALL_IDS,
  );
  while (!bookings.isDone || !events.isDone) {
    if (bookings.isBehind(events)) for (const booking of await bookings.next()) pairs.addBooking(booking);
    else for (const event of await events.next()) pairs.addEvent(event);
    if (pairs.waiting > maxWaiting) await pairs.lookUpWaiting(page);
  }
  await pairs.lookUpWaiting(page);
  return pairs.found();
}

/** The rows of one table in the order of their ids. The next page is read while the present one is compared. */
class Pages<Row> {
  isDone = false;
  /** The id of the last row that was taken. */
  position: string;
  #nextPage: Promise<Row[]>;
  readonly #read: (after: string) => Promise<Row[]>;
  readonly #idOf: (row: Row) => string;
  readonly #size: number;

  constructor(read: (after: string) => Promise<Row[]>, idOf: (row: Row) => string, size: number, after: string) {
    this.#read = read;
    this.#idOf = idOf;
    this.#size = size;
    this.position = after;
    this.#nextPage = this.#readAhead();
  }

  isBehind(other: { readonly isDone: boolean; readonly position: string }): boolean {
    return !this.isDone && (other.isDone || this.position <= other.position);
  }

  async next(): Promise<Row[]> {
    const rows = await this.#nextPage;
    const last = rows.at(-1);
    if (last !== undefined) this.position = this.#idOf(last);
    this.isDone = rows.length < this.#size;
    if (!this.isDone) this.#nextPage = this.#readAhead();
    return rows;
  }

  #readAhead(): Promise<Row[]> {
    const page = this.#read(this.position);
    // A failure is thrown by the call that takes the page.
    page.catch(() => {});
    return page;
  }
}

class Pairs {
  readonly #em: EntityManager;
  readonly #lenderId: string;
  readonly #keptFrom: string;
  readonly #bookings = new Map<string, Booking>();
  readonly #events = new Map<string, StoredEvent>();
  readonly #problems: BookingEventProblem[] = [];
  #total = 0;

  constructor(em: EntityManager, lenderId: string, keptFrom: string) {
    this.#em = em;
    this.#lenderId = lenderId;
    this.#keptFrom = keptFrom;
  }

  get waiting(): number {
    return this.#bookings.size + this.#events.size;
  }

  addBooking(booking: Booking): void {
    const key = keyOf(booking.sourceLoanNumber, booking.sequence);
    const event = this.#events.get(key);
    if (event === undefined) this.#bookings.set(key, booking);
    else if (this.#events.delete(key)) this.#compare(booking, event);
  }

  addEvent(event: StoredEvent): void {
    const key = keyOf(event.loan, event.sequence);
    const booking = this.#bookings.get(key);
    // A second event of the same number is the sequences' problem; here it waits for its own booking.
    if (booking === undefined) this.#events.set(key, event);
    else if (this.#bookings.delete(key)) this.#compare(booking, event);
  }

  /** Looks up the counterpart of everything that waits, by its key, and names what has none. */
  async lookUpWaiting(page: number): Promise<void> {
    const [bookings, events] = [[...this.#bookings.values()], [...this.#events.values()]];
    this.#bookings.clear();
    this.#events.clear();
    for (let from = 0; from < bookings.length; from += page)
      await this.#lookUpEvents(bookings.slice(from, from + page));
    for (let from = 0; from < events.length; from += page) await this.#lookUpBookings(events.slice(from, from + page));
  }

  found(): { problems: BookingEventProblem[]; total: number } {
    return { problems: this.#problems, total: this.#total };
  }

  async #lookUpEvents(bookings: readonly Booking[]): Promise<void> {
    const keys = bookings.map(({ sourceLoanNumber: loan, sequence }) => ({ loan, sequence }));
    const found = await readSnapshot(this.#em, async (tx) => {
      await holdEvents(tx);
      return eventsAt(tx, this.#lenderId, KIND, keys);
    });
    for (const [index, booking] of bookings.entries()) {
      const { event, isLetGo } = found[index]!;
      if (event) this.#compare(booking, event);
      else if (!isLetGo) {
        const detail = `${nameOf(booking)} has no ${KIND} event at sequence ${booking.sequence}.`;
        this.#add("EVENT_MISSING", "payment_booking", booking.id, detail);
      }
    }
  }

  async #lookUpBookings(events: readonly StoredEvent[]): Promise<void> {
    const lenderId = this.#lenderId;
    const keys = events.map(({ loan, body }) => ({
      lenderId,
      loan,
      reference: String(dataOf(bodyOf(body))["reference"]),
    }));
    const found = await bookingsFor(this.#em, keys);
    const byKey = new Map(found.map((one) => [keyOf(one.sourceLoanNumber, one.reference), one]));
    for (const [index, event] of events.entries()) {
      const { loan, reference } = keys[index]!;
      const booking = byKey.get(keyOf(loan, reference));
      if (booking) {
        // A booking that is read by itself finds this event, and is compared then.
        const isCompared = booking.sequence === event.sequence && booking.id > this.#keptFrom;
        if (!isCompared) this.#compare(booking, event);
      } else {
        const detail = `Loan ${loan}, sequence ${event.sequence}: nothing is booked under the event's reference ${reference}.`;
        this.#add("EVENT_WITHOUT_BOOKING", "event", publicId("evt", event.eventId), detail);
      }
    }
  }

  #compare(booking: Booking, event: StoredEvent): void {
    const differences = differencesBetween(booking, event);
    if (differences.length === 0) return;
    const detail = `${nameOf(booking)}: ${differences.join("; ")}.`;
    this.#add("EVENT_UNLIKE_BOOKING", "event", publicId("evt", event.eventId), detail);
  }

  #add(code: BookingEventProblem["code"], table: BookingEventProblem["table"], id: string, detail: string): void {
    this.#total += 1;
    if (this.#problems.length < MAX_PROBLEMS)
      this.#problems.push({ code, table, id, lenderId: this.#lenderId, detail });
  }
}

function keyOf(loan: string, other: bigint | string): string {
  return `${other}\n${loan}`;
}

function nameOf({ sourceLoanNumber, reference }: Booking): string {
  return `Loan ${sourceLoanNumber}, payment ${reference}`;
}

/** A field of the event's body, and what it has to be. */
interface Field {
  readonly name: string;
  readonly said: (body: JsonObject, data: JsonObject) => unknown;
  readonly booked: (booking: Booking, event: StoredEvent) => unknown;
}

/** contract: Event kinds */
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
    // Events of earlier versions do not have the field, and their payments were never in the balance.
    said: (_, { inBalance = 0 }) => inBalance,
    booked: ({ inBalanceMinor, currency }) => major(inBalanceMinor ?? 0n, currency),
  },
  inData("mode", ({ mode }) => mode),
  inData("paidAt", ({ paidAt }) => paidAt.toISOString()),
  inData("linkId", ({ linkId }) => linkId),
  inData("visitId", ({ visitId }) => visitId && publicId("vis", visitId)),
  inData("attribution", ({ attribution }) => attribution),
];

function inBody(name: string, booked: Field["booked"]): Field {
  return { name, said: (body) => body[name], booked };
}

function inData(name: string, booked: Field["booked"]): Field {
  return { name: `data.${name}`, said: (_, data) => data[name], booked };
}

/** Each field of the event that says something else than the booking. */
function differencesBetween(booking: Booking, event: StoredEvent): string[] {
  const body = bodyOf(event.body);
  if (body === undefined) return ["the event's body is not a JSON object"];
  const data = dataOf(body);
  const differences: string[] = [];
  if (event.loan !== booking.sourceLoanNumber || event.sequence !== booking.sequence) {
    const place = `sequence ${event.sequence} of loan ${event.loan}`;
    differences.push(`the event's row is at ${place}, the booking at sequence ${booking.sequence}`);
  }
  for (const { name, said, booked } of FIELDS) {
    const [inEvent, inBooking] = [said(body, data), booked(booking, event)];
    if (inEvent === inBooking || (name === "data.paidAt" && instant(inEvent) === inBooking)) continue;
    differences.push(`${name} is ${shown(inEvent)} in the event, ${shown(inBooking)} in the booking`);
  }
  return differences;
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

/** In one spelling, so that only another time differs. */
function instant(value: unknown): unknown {
  const time = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? value : new Date(time).toISOString();
}

function shown(value: unknown): string {
  return value === undefined ? "absent" : JSON.stringify(value);
}
