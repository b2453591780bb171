import { fail, warn, type Check, type Finding } from "./check.ts";
import { describeAnswer, isSuccess } from "./expectation.ts";
import { readLink, type Link } from "./link.ts";
import type { Exchange } from "../stand-in/stand-in.ts";
import { linkFaults } from "./link-state.ts";
import { amountsOf } from "../stand-in/link-request.ts";

const AT_ONCE = 10;

/** Checks that each link request gets its own link, for exactly its amount. contract: Mint-link request, Money */
export const mintRepeatChecks: readonly Check[] = [
  {
    name: "mint.same-key",
    title: "The same Idempotency-Key gets the same link",
    why: "When an answer is lost, the field partner taps again. With two links for one request, the borrower could pay twice.",
    async run(service) {
      const linkRequest = service.linkRequest();
      const first = readLink(await service.mint("a link request", linkRequest));
      const second = readLink(await service.mint("the same request with the same Idempotency-Key", linkRequest));
      const faults = [...first.faults, ...second.faults];
      return faults.length > 0 ? faults : sameLinks([first.link, second.link]);
    },
  },
  {
    name: "mint.same-key-at-once",
    title: "Several calls at once with one Idempotency-Key get one link",
    why: "The second tap may arrive while your gateway is still working on the first call.",
    async run(service) {
      const linkRequest = service.linkRequest();
      const calls = Array.from({ length: 3 }, () => service.mint("one link request, three times at once", linkRequest));
      const made = await Promise.all(calls);
      const readings = made.map(readLink);
      const rejected = made.find(({ outcome }) => outcome.kind === "answer" && !isSuccess(outcome.status));
      return [...(rejected ? [busy(rejected)] : []), ...sameLinks(readings.map(({ link }) => link))];
    },
  },
  {
    name: "mint.another-key",
    title: "Another link request gets another link",
    why: "The link of an earlier request is for an earlier amount.",
    async run(service) {
      const one = readLink(await service.mint("a link request for 150", service.linkRequest({ amount: 150 })));
      const other = readLink(
        await service.mint("a link request for 151 with another key", service.linkRequest({ amount: 151 })),
      );
      const faults = [...one.faults, ...other.faults];
      if (faults.length > 0 || one.link!.linkId !== other.link!.linkId) return faults;
      return [
        fail(`Both requests got the link ${one.link!.shown}.`, "Look up an earlier link by the Idempotency-Key alone."),
      ];
    },
  },
  {
    name: "mint.amounts",
    title: "Amounts are exact to the last decimal",
    why: "1.15 times 100 is 114.99999999999999 in floating point: a paisa is lost, or the request is rejected.",
    async run(service) {
      const faults: Finding[] = [];
      for (const amount of amountsOf(service.settings.currency)) {
        const { link, faults: found } = readLink(
          await service.mint(`a link request for ${amount}`, service.linkRequest({ amount })),
        );
        faults.push(...found.map((fault) => ({ ...fault, problem: `For ${amount}: ${fault.problem}`, mend: EXACT })));
        if (link !== null) faults.push(...(await linkFaults(service, link, amount, EXACT)));
      }
      return faults;
    },
  },
  {
    name: "mint.parallel",
    title: "Ten link requests at once get ten links, each for its amount",
    why: "Many field partners ask for links at the same time.",
    async run(service) {
      const requests = Array.from({ length: AT_ONCE }, (_, index) => service.linkRequest({ amount: 151 + index }));
      const made = await Promise.all(
        requests.map((linkRequest) => service.mint("one of ten link requests at once", linkRequest)),
      );
      const readings = made.map(readLink);
      const faults = readings.flatMap((reading) => reading.faults).slice(0, 1);
      if (faults.length > 0) return faults.map((fault) => ({ ...fault, mend: `${fault.mend} ${APART}` }));
      const links = readings.map(({ link }) => link!);
      const distinct = new Set(links.map(({ linkId }) => linkId)).size;
      if (distinct < AT_ONCE) return [fail(`Ten link requests got ${distinct} different links.`, APART)];
      for (const [index, link] of links.entries()) {
        faults.push(...(await linkFaults(service, link, requests[index]!.amount, APART)));
      }
      return faults.slice(0, 1);
    },
  },
];

function sameLinks(links: readonly (Link | null)[]): Finding[] {
  const texts = new Set(links.filter((link) => link !== null).map(({ shown }) => shown));
  if (texts.size <= 1) return [];
  return [fail(`One Idempotency-Key got different links: ${[...texts].join(" and ")}.`, ONE_PER_KEY)];
}

function busy(made: Exchange): Finding {
  const problem = `One of the three requests was ${describeAnswer(made)}.`;
  return warn(
    problem,
    "No second link was made, so the borrower cannot pay twice. Better still, wait for the first call and return its link.",
  );
}

const ONE_PER_KEY =
  "Store the Idempotency-Key under a unique index before you call the gateway. If the key exists, answer with its link. Pass the key on to the gateway if the gateway accepts one.";
const EXACT =
  "Parse the amount's digits as a decimal and calculate in whole minor units. Do not round, and do not multiply a float.";
const APART =
  "Do not share variables between requests: keep the data of each request in its own scope and its own row.";
