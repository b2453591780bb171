import type { Check } from "./check.ts";
import { acknowledged } from "./expectation.ts";
import { arriveAt } from "./state.ts";

/** The largest body that the service sends. contract: Event kinds */
const LARGEST_BODY_BYTES = 20 * 1024 - 1;
const AT_ONCE = 50;

/** Whether the receiver takes what the service may send. contract: Event kinds, Versions */
export const receiverBodyChecks: readonly Check[] = [
  {
    name: "receiver.unknown-kind",
    title: "An event of a kind that nobody knows yet is acknowledged",
    why: "Kinds are added without notice. Refusing one means that it is retried for a day, and 20 refusals suspend your callback.",
    async run(service) {
      const event = service.event(service.newLoan(), 1, { kind: "case.audited", data: { mood: "hopeful" } });
      const made = await service.deliver("an event of the kind case.audited", event);
      return acknowledged(made, IGNORE_UNKNOWN);
    },
  },
  {
    name: "receiver.unknown-fields",
    title: "Fields that nobody knows yet are ignored",
    why: "Fields are added without notice, to the envelope and to data.",
    async run(service) {
      const details = { data: { importId: "imp_1", cycle: 1, mood: { hopeful: true } }, extra: { region: ["west"] } };
      const made = await service.deliver("an event with new fields", service.event(service.newLoan(), 1, details));
      return acknowledged(made, IGNORE_UNKNOWN);
    },
  },
  {
    name: "receiver.utf8",
    title: "Text beyond ASCII arrives as it was sent",
    why: "Names and loan numbers are in the scripts of your borrowers. Whoever reads bytes as Latin-1 signs another text, and stores another loan.",
    async run(service) {
      const loan = service.newLoan("मुंबई/ऋण 2026");
      const data = { fieldPartner: { id: "fp_1", displayName: "Aśa “Asha” राव 🙂" } };
      const event = service.event(loan, 1, { kind: "case.assigned", data });
      const made = await service.deliver("an event of a loan with a Devanagari number", event);
      const faults = acknowledged(made, READ_UTF8);
      return faults.length > 0 ? faults : arriveAt(service, [loan], 1, READ_UTF8);
    },
  },
  {
    name: "receiver.large-body",
    title: "A body of 20 KB is taken",
    why: "An event with many changes may be that large. Some frameworks and proxies stop at less.",
    async run(service) {
      const loan = service.newLoan();
      const bodyOf = (note: string) => service.event(loan, 1, { kind: "case.updated", data: updateWith(note) });
      const note = "x".repeat(LARGEST_BODY_BYTES - Buffer.byteLength(bodyOf("").body));
      const made = await service.deliver(`an event of ${LARGEST_BODY_BYTES} bytes`, bodyOf(note));
      const faults = acknowledged(made, TAKE_20_KB);
      return faults.length > 0 ? faults : arriveAt(service, [loan], 1, TAKE_20_KB);
    },
  },
  {
    name: "receiver.burst",
    title: "Fifty events at once are acknowledged",
    why: "An import of many cases, or the end of an outage of yours, brings events of many loans at the same time.",
    async run(service) {
      const loans = Array.from({ length: AT_ONCE }, () => service.newLoan());
      const made = await Promise.all(
        loans.map((loan) => service.deliver("an event, all at once", service.event(loan))),
      );
      const faults = made.flatMap((one) => acknowledged(one)).slice(0, 1);
      if (faults.length > 0) return faults.map((finding) => ({ ...finding, mend: `${finding.mend} ${QUEUE}` }));
      return arriveAt(service, loans, 1, QUEUE);
    },
  },
];

function updateWith(note: string): object {
  return { importId: "imp_1", cycle: 1, changes: [{ field: "note", from: null, to: note }] };
}

const IGNORE_UNKNOWN =
  "Store what is genuine and answer 2xx; ignore kinds and fields that you do not know, also in a strict schema or an enum.";
const READ_UTF8 = "Verify over bytes, decode them as UTF-8, and keep them in columns that hold all of Unicode.";
const TAKE_20_KB = "Take bodies of at least 20 KB, in the proxy before your server and in your columns too.";
const QUEUE = "Store each event in a statement of its own and answer; let nothing that requests share be overwritten.";
