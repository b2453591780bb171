import { fail, warn, type Check, type Finding } from "./check.ts";
import { answerInWords, isSuccess } from "./expectation.ts";
import { readLink, type Link } from "./link.ts";
import type { Exchange } from "../stand-in/stand-in.ts";
import { linkFaults } from "./link-state.ts";
import { amountsOf } from "../stand-in/wish.ts";

const AT_ONCE = 10;

/** Whether wishes are told apart, and each is for its amount. contract: Mint-link request, Money */
export const mintRepeatChecks: readonly Check[] = [
  {
    name: "mint.same-key",
    title: "The same Idempotency-Key gets the same link",
    why: "When an answer is lost, the field partner taps again. Two links for one wish are two ways to pay it.",
    async run(service) {
      const wish = service.wish();
      const first = readLink(await service.mint("a wish", wish));
      const second = readLink(await service.mint("the same wish with the same Idempotency-Key", wish));
      const faults = [...first.faults, ...second.faults];
      return faults.length > 0 ? faults : sameLinks([first.link, second.link]);
    },
  },
  {
    name: "mint.same-key-at-once",
    title: "The same Idempotency-Key at the same moment gets one link",
    why: "The second tap can come while the first call is still at your gateway.",
    async run(service) {
      const wish = service.wish();
      const calls = Array.from({ length: 3 }, () => service.mint("one wish, three times at once", wish));
      const made = await Promise.all(calls);
      const readings = made.map(readLink);
      const refused = made.find(({ outcome }) => outcome.kind === "answer" && !isSuccess(outcome.status));
      return [...(refused ? [busy(refused)] : []), ...sameLinks(readings.map(({ link }) => link))];
    },
  },
  {
    name: "mint.another-key",
    title: "Another wish gets another link",
    why: "A link of an earlier wish asks for an earlier amount.",
    async run(service) {
      const one = readLink(await service.mint("a wish for 150", service.wish({ amount: 150 })));
      const other = readLink(await service.mint("a wish for 151 with another key", service.wish({ amount: 151 })));
      const faults = [...one.faults, ...other.faults];
      if (faults.length > 0 || one.link!.linkId !== other.link!.linkId) return faults;
      return [fail(`Both got the link ${one.link!.shown}.`, "Look up an earlier link by the Idempotency-Key alone.")];
    },
  },
  {
    name: "mint.amounts",
    title: "Amounts are taken to the last decimal",
    why: "1.15 times 100 is 114.99999999999999 in floating point: a paisa is lost, or the wish is refused.",
    async run(service) {
      const faults: Finding[] = [];
      for (const amount of amountsOf(service.settings.currency)) {
        const { link, faults: found } = readLink(await service.mint(`a wish for ${amount}`, service.wish({ amount })));
        faults.push(...found.map((fault) => ({ ...fault, problem: `For ${amount}: ${fault.problem}`, mend: EXACT })));
        if (link !== null) faults.push(...(await linkFaults(service, link, amount, EXACT)));
      }
      return faults;
    },
  },
  {
    name: "mint.parallel",
    title: "Ten wishes at once get ten links, each for its amount",
    why: "Many field partners are at doors at the same time.",
    async run(service) {
      const wishes = Array.from({ length: AT_ONCE }, (_, index) => service.wish({ amount: 151 + index }));
      const made = await Promise.all(wishes.map((wish) => service.mint("a wish, ten at once", wish)));
      const readings = made.map(readLink);
      const faults = readings.flatMap((reading) => reading.faults).slice(0, 1);
      if (faults.length > 0) return faults.map((fault) => ({ ...fault, mend: `${fault.mend} ${APART}` }));
      const links = readings.map(({ link }) => link!);
      const distinct = new Set(links.map(({ linkId }) => linkId)).size;
      if (distinct < AT_ONCE) return [fail(`Ten wishes got ${distinct} different links.`, APART)];
      for (const [index, link] of links.entries()) {
        faults.push(...(await linkFaults(service, link, wishes[index]!.amount, APART)));
      }
      return faults.slice(0, 1);
    },
  },
];

function sameLinks(links: readonly (Link | null)[]): Finding[] {
  const texts = new Set(links.filter((link) => link !== null).map(({ shown }) => shown));
  if (texts.size <= 1) return [];
  return [fail(`One key got different links: ${[...texts].join(" and ")}.`, ONE_PER_KEY)];
}

function busy(made: Exchange): Finding {
  const problem = `One of them was ${answerInWords(made)}.`;
  return warn(problem, "No second link is made, which matters most; better wait for the first call and answer alike.");
}

const ONE_PER_KEY =
  "Keep the Idempotency-Key with the link under a unique index, before the gateway is called, and answer with the link that is there; hand the key on to the gateway if it takes one.";
const EXACT =
  "Read the amount as a decimal, from its digits, and count in whole minor units; round nothing and multiply no float.";
const APART = "Let requests share no variable: keep what belongs to one in its own scope, and in its own row.";
