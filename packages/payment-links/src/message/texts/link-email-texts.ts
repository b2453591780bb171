/** The facts that a text may contain, ready to be shown: one line each, and the amount in the format of the language. */
export interface LinkEmailFacts {
  readonly borrowerName: string;
  readonly lenderName: string;
  readonly amount: string;
}

/** The texts of the e-mail that carries a link, in one language. The link stands between `request` and `closing`. */
export interface LinkEmailTexts {
  subject(facts: LinkEmailFacts): string;
  greeting(facts: LinkEmailFacts): string;
  request(facts: LinkEmailFacts): string;
  closing(facts: LinkEmailFacts): string;
}
