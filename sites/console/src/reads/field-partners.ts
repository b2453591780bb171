/** Which field partners to show. */
export interface PeopleSearch {
  readonly text: string | undefined;
  readonly state: string | undefined;
  readonly after: string | undefined;
}

/** An amount that a payout would pay. */
export interface Owed {
  readonly amount: string;
  readonly currency: string;
}

/** A field partner in the list. */
export interface Person {
  readonly fieldPartnerId: string;
  readonly displayName: string;
  /** Masked. */
  readonly phone: string;
  readonly state: string;
  readonly timeZone: string;
  readonly openCases: number;
  readonly owed: readonly Owed[];
}

/** A page of field partners. */
export interface PeoplePage {
  readonly people: readonly Person[];
  /** The `after` of the next page; null on the last page. */
  readonly next: string | null;
}

/** A field partner. Times are local times in `timeZone`. */
export interface PersonView extends Person {
  readonly openPromises: number;
  readonly lastVisit: string | null;
  readonly cases: readonly { readonly lenderCode: string; readonly status: string; readonly cases: number }[];
  readonly sessions: readonly {
    readonly deviceName: string | null;
    readonly signedInAt: string;
    readonly lastUsedAt: string;
  }[];
}
