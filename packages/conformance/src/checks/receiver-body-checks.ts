import type { Check } from "./check.ts";
import { expectAcknowledged } from "./expectation.ts";
import { expectStateAt } from "./state.ts";

/** The largest body that the service sends. contract: Event kinds */
const LARGEST_BODY_BYTES = 20 * 1024 - 1;
const AT_ONCE = 50;

/** Checks that the receiver accepts every event that the service may send. contract: Event kinds, Versions */
export const receiverBodyChecks: readonly Check[] = [
  {
    name: "receiver.unknown-kind",
    title: "An event of an unknown kind is acknowledged",
    why: "The service may add kinds without notice. If you reject an event, it is retried for a day, and 20 failures in a row suspend your callback.",
    async run(service) {
      const event = service.event(service.newLoan(), 1, { kind: "case.audited", data: { mood: "hopeful" } });
      const made = await service.deliver("an event of the kind case.audited", event);
      return expectAcknowledged(made, IGNORE_UNKNOWN);
    },
  },
  {
    name: "receiver.unknown-fields",
    title: "Unknown fields are ignored",
    why: "The service may add fields without notice, to the envelope and to data.",
    async run(service) {
      const details = { data: { importId: "imp_1", cycle: 1, mood: { hopeful: true } }, extra: { region: ["west"] } };
      const made = await service.deliver("an event with new fields", service.event(service.newLoan(), 1, details));
      return expectAcknowledged(made, IGNORE_UNKNOWN);
    },
  },
  {
    name: "receiver.utf8",
    title: "Text beyond ASCII is read correctly",
    why: "Names and loan numbers may be in any script. If you read the bytes as Latin-1, the signature does not match, or you store a wrong loan number.",
    async run(service) {
      const loan = service.newLoan("मुंबई/ऋण 2026");
      const data = { fieldPartner: { id: "fp_1", displayName: "Aśa “Asha” राव 🙂" } };
      const event = service.event(loan, 1, { kind: "case.assigned", data });
      const made = await service.deliver("an event of a loan with a Devanagari number", event);
      const faults = expectAcknowledged(made, READ_UTF8);
      return faults.length > 0 ? faults : expectStateAt(service, [loan], 1, READ_UTF8);
    },
  },
  {
    name: "receiver.large-body",
    title: "A body of 20 KB is accepted",
    why: "An event with many changes may be that large. Some frameworks and proxies have a lower limit.",
    async run(service) {
      const loan = service.newLoan();
      const bodyOf = (note: string) => service.event(loan, 1, { kind: "case.updated", data: updateWith(note) });
      const note = "x".repeat(LARGEST_BODY_BYTES - Buffer.byteLength(bodyOf("").body));
      const made = await service.deliver(`an event of ${LARGEST_BODY_BYTES} bytes`, bodyOf(note));
      const faults = expectAcknowledged(made, TAKE_20_KB);
      return faults.length > 0 ? faults : expectStateAt(service, [loan], 1, TAKE_20_KB);
    },
  },
  {
    name: "receiver.burst",
    title: "Fifty events at once are acknowledged",
    why: "After an import of many cases, or after an outage of your server, the service sends events of many loans at the same time.",
    async run(service) {
      const loans = Array.from({ length: AT_ONCE }, () => service.newLoan());
      const made = await Promise.all(
        loans.map((loan) => service.deliver("one of fifty events at once", service.event(loan))),
      );
      const faults = made.flatMap((one) => expectAcknowledged(one)).slice(0, 1);
      if (faults.length > 0) return faults.map((finding) => ({ ...finding, mend: `${finding.mend} ${QUEUE}` }));
      return expectStateAt(service, loans, 1, QUEUE);
    },
  },
];

function updateWith(note: string): object {
  return { importId: "imp_1", cycle: 1, changes: [{ field: "note", from: null, to: note }] };
}

const IGNORE_UNKNOWN =
  "Store every event that is signed correctly and answer 2xx. Ignore kinds and fields that you do not know; make strict schemas and enums allow them.";
const READ_UTF8 =
  "Verify the signature over the bytes, decode them as UTF-8, and store the text in columns that hold all of Unicode.";
const TAKE_20_KB = "Accept bodies of at least 20 KB, also in the proxy in front of your server and in your columns.";
const QUEUE = "Store each event separately before you answer, and do not let requests overwrite shared variables.";
