import { type Booking, bookingPage, bookingsFor } from "@collections/bookings";
import { BEFORE_ALL_IDS, publicId, readSnapshot } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { eventPage, eventsAt, eventsKeptFrom, holdEvents, type StoredEvent } from "@collections/webhooks";
import { differencesBetween, KIND, referenceIn, shown } from "./booking-event-fields.ts";

/** A booking that differs from its event, or a booking or an event without a counterpart. */
export interface BookingEventProblem {
  readonly code: "EVENT_UNLIKE_BOOKING" | "EVENT_MISSING" | "EVENT_WITHOUT_BOOKING";
  readonly table: "event" | "payment_booking";
  readonly id: string;
  readonly lenderId: string;
  readonly detail: string;
}

/** The number of rows to read at a time, and the maximum number of rows that wait for their counterpart. */
export interface BookingEventOptions {
  readonly page?: number;
  readonly maxWaiting?: number;
}

const PAGE = 1_000;
/**
 * Processes that write at the same time create ids that are out of order by milliseconds. So some rows have to wait for
 * their counterpart.
 */
const MAX_WAITING = 4 * PAGE;
const MAX_PROBLEMS = 1_000;

/**
 * Compares each booking of a lender with the body of its `payment.collected` event, and finds bookings and events
 * without a counterpart. A booking and its event are created one after the other, so their ids are close. Both tables
 * are read once, in the order of ids, and paired with limited memory. Rows that find no counterpart in this way are
 * looked up by key.
 */
export async function verifyBookingEvents(
  em: EntityManager,
  lenderId: string,
  { page = PAGE, maxWaiting = MAX_WAITING }: BookingEventOptions = {},
): Promise<{ problems: BookingEventProblem[]; total: number }> {
  // Retention may have deleted the events of older bookings, so these bookings are not read. For an older event that
  // still exists, the booking is looked up by its key.
  const keptFrom = await eventsKeptFrom(em);
  const pairs = new Pairs(em, lenderId, keptFrom);
  const bookings = new Pages(keptFrom, async (after) => {
    const rows = await bookingPage(em, lenderId, after, page);
    return { rows, next: rows.length < page ? undefined : rows.at(-1)?.id };
  });
  const events = new Pages(BEFORE_ALL_IDS, async (after) => {
    const { events: rows, next } = await eventPage(em, lenderId, KIND, after, page);
    return { rows, next };
  });
  while (!bookings.isDone || !events.isDone) {
    if (bookings.isBehind(events)) for (const booking of await bookings.next()) pairs.addBooking(booking);
    else for (const event of await events.next()) pairs.addEvent(event);
    if (pairs.waiting > maxWaiting) await pairs.lookUpWaiting(page);
  }
  await pairs.lookUpWaiting(page);
  return pairs.found();
}

/**
 * A page of rows, ordered by id. `next` is the id after which the next page starts; undefined on the last page.
 */
interface Page<Row> {
  readonly rows: Row[];
  readonly next: string | undefined;
}

/** The rows of one table, ordered by id. The next page is read while the current page is compared. */
class Pages<Row> {
  isDone = false;
  /** All rows up to this id were returned. */
  position: string;
  #nextPage: Promise<Page<Row>>;
  readonly #read: (after: string) => Promise<Page<Row>>;

  constructor(after: string, read: (after: string) => Promise<Page<Row>>) {
    this.#read = read;
    this.position = after;
    this.#nextPage = this.#readAhead();
  }

  isBehind(other: { readonly isDone: boolean; readonly position: string }): boolean {
    return !this.isDone && (other.isDone || this.position <= other.position);
  }

  async next(): Promise<Row[]> {
    const { rows, next } = await this.#nextPage;
    if (next === undefined) this.isDone = true;
    else {
      this.position = next;
      this.#nextPage = this.#readAhead();
    }
    return rows;
  }

  #readAhead(): Promise<Page<Row>> {
    const page = this.#read(this.position);
    // Prevents an unhandled rejection. The error is not lost: `next` throws it when it awaits the page.
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
    const key = keyOf(event.stream, event.sequence);
    const booking = this.#bookings.get(key);
    // If two events have the same sequence, the second one finds no booking and is added to the waiting events. Its
    // booking is later looked up by its reference. The check of sequences reports the duplicate.
    if (booking === undefined) this.#events.set(key, event);
    else if (this.#bookings.delete(key)) this.#compare(booking, event);
  }

  /** Looks up the counterpart of all waiting rows by their keys, and adds a problem for each row that has none. */
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
    const references = events.map(referenceIn);
    const keys = events.flatMap(({ stream: loan }, index) => {
      const reference = references[index];
      return isBookable(reference) ? [{ lenderId, loan, reference }] : [];
    });
    const found = await bookingsFor(this.#em, keys);
    const byKey = new Map(found.map((one) => [keyOf(one.sourceLoanNumber, one.reference), one]));
    for (const [index, event] of events.entries()) {
      const { stream: loan } = event;
      const reference = references[index];
      const booking = isBookable(reference) ? byKey.get(keyOf(loan, reference)) : undefined;
      if (booking) {
        // Do not compare a pair twice, because each difference would then be reported twice. A booking with the event's
        // sequence is compared when its page is read, if it is new enough to be among the pages.
        const isCompared = booking.sequence === event.sequence && booking.id > this.#keptFrom;
        if (!isCompared) this.#compare(booking, event);
      } else {
        const place = `Loan ${loan}, sequence ${event.sequence}`;
        const detail = `${place}: nothing is booked under the event's reference ${shown(reference)}.`;
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

/**
 * Returns whether a booking can have this reference. PostgreSQL cannot store a text with NUL, so no booking has such a
 * reference.
 */
function isBookable(reference: unknown): reference is string {
  return typeof reference === "string" && !reference.includes("\0");
}

function keyOf(loan: string, other: bigint | string): string {
  return `${other}\n${loan}`;
}

function nameOf({ sourceLoanNumber, reference }: Booking): string {
  return `Loan ${sourceLoanNumber}, payment ${reference}`;
}
