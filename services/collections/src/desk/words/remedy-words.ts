/** The commands of doctor's remedies that a page can replace, with the words for the page. */
const COMMANDS: readonly (readonly [command: RegExp, page: string])[] = [
  [/collections endpoint probe (\w+)/g, "“Send a test call” on the page Connection of $1"],
  [/collections endpoint show (\w+)/g, "the page of the lender $1"],
  [
    /collections lender update (\w+) --(?:callback-url https:\/\/…|mint-auth-header)/g,
    "“Change the settings” on the page Connection of $1",
  ],
  [/collections lender show/g, "the page of the lender"],
  [/collections key create (\w+)/g, "“Create a key” on the page Connection of $1"],
  [/collections key revoke (\w+)/g, "“Revoke” beside $1 on the same page"],
  [/collections payment reconciliation \w+ (rec_\w+) shows/g, "The page of $1 under Reconciliations shows"],
  [/collections payout preview <id> shows/g, "The page of a payout under Money shows"],
  [/collections payment show \w+ <loan> <reference> shows/g, "the page of a payment under Money shows"],
];

/**
 * Returns a remedy of doctor with the pages of the console instead of the commands. A command that no page replaces stays.
 *
 * @example
 * onPages("After the repair: collections endpoint probe ACME.");
 * // After the repair: “Send a test call” on the page Connection of ACME.
 */
export function onPages(remedy: string): string {
  return COMMANDS.reduce((text, [command, page]) => text.replaceAll(command, page), remedy);
}
