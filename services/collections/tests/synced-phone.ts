import type { AppClient } from "./graphql-client.ts";

const CASE = "id loanTail status isShrunk outstanding { minor }";
const SYNC = `query ($since: String, $first: Int) { sync(since: $since, first: $first) {
  cursor hasMore isFull goneCaseIds cases { ${CASE} }
  paymentLinks { id status } earningLines { id status } } }`;

interface ShownCase {
  readonly id: string;
  readonly loanTail: string;
  readonly status: string;
  readonly isShrunk: boolean;
}

/** One page of a sync, as the service answers. */
export interface SyncedPage {
  readonly cursor: string;
  readonly hasMore: boolean;
  readonly isFull: boolean;
  readonly goneCaseIds: readonly string[];
  readonly cases: readonly ShownCase[];
  readonly paymentLinks: readonly { readonly id: string; readonly status: string }[];
  readonly earningLines: readonly { readonly id: string; readonly status: string }[];
}

interface SyncArguments {
  readonly since?: string | undefined;
  readonly first?: number;
}

/** An app that keeps its cases, by the rules of docs/field-app. */
export class SyncedPhone {
  readonly app: AppClient;
  #cursor: string | undefined;
  #cases = new Map<string, ShownCase>();

  constructor(app: AppClient) {
    this.app = app;
  }

  /** Asks for pages until there are no more, and keeps what they bring. */
  async *pages({ first = 50 }: SyncArguments = {}): AsyncGenerator<SyncedPage> {
    const seen = new Set<string>();
    for (let hasMore = true; hasMore;) {
      const page = await this.page({ since: this.#cursor, first });
      for (const id of page.goneCaseIds) this.#cases.delete(id);
      for (const one of page.cases) {
        this.#cases.set(one.id, one);
        seen.add(one.id);
      }
      ({ cursor: this.#cursor, hasMore } = page);
      if (page.isFull && !hasMore) this.#cases = new Map([...this.#cases].filter(([id]) => seen.has(id)));
      yield page;
    }
  }

  async sync(asked: SyncArguments = {}): Promise<SyncedPage[]> {
    const pages: SyncedPage[] = [];
    for await (const page of this.pages(asked)) pages.push(page);
    return pages;
  }

  /** One page, which the phone does not keep. */
  async page(asked: SyncArguments): Promise<SyncedPage> {
    const { data, errors } = await this.app.ask(SYNC, asked);
    if (errors) throw new Error(JSON.stringify(errors));
    return data!["sync"] as SyncedPage;
  }

  cases(): ShownCase[] {
    return [...this.#cases.values()].toSorted(byId);
  }

  caseIds(): string[] {
    return this.cases().map(({ id }) => id);
  }

  /** What the service lists, at most 100. */
  async listed(): Promise<ShownCase[]> {
    const { data } = await this.app.ask(`{ cases(first: 100) { edges { node { ${CASE} } } } }`);
    return (data!["cases"].edges as { node: ShownCase }[]).map(({ node }) => node).toSorted(byId);
  }

  async listedIds(): Promise<string[]> {
    return (await this.listed()).map(({ id }) => id);
  }

  async idOf(loan: string): Promise<string> {
    const found = (await this.listed()).find(({ loanTail }) => loanTail === loan.slice(-4));
    if (!found) throw new Error(`${loan} is not a case of this phone's.`);
    return found.id;
  }
}

function byId(a: ShownCase, b: ShownCase): number {
  return a.id < b.id ? -1 : 1;
}
