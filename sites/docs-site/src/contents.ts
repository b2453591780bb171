import { existsSync, readdirSync } from "node:fs";

/**
 * A page of the site, with its title in the navigation. If the page is a rendered file of docs/, `file` is its path.
 */
export interface Page {
  readonly path: string;
  readonly title: string;
  readonly file?: string;
}

export interface Chapter {
  readonly title: string;
  readonly pages: readonly Page[];
}

/**
 * The repository's docs/ folder. This relative URL is valid because the service runs the site's modules from the
 * sources.
 */
export const DOCS = new URL("../../../docs/", import.meta.url);

/** All pages of the site, in the order of the navigation. */
export const CHAPTERS: readonly Chapter[] = [
  {
    title: "Integrate",
    pages: [
      { path: "/docs", title: "Guide", file: "lenders/guide.md" },
      { path: "/docs/signing", title: "Sign and verify", file: "lenders/signing.md" },
      { path: "/docs/receiver", title: "Receive events", file: "lenders/receiver.md" },
      { path: "/docs/retries", title: "Retries and replay", file: "lenders/retries.md" },
      { path: "/docs/reversals", title: "When money comes back", file: "lenders/reversals.md" },
      { path: "/docs/lists", title: "Compare your books", file: "lenders/lists.md" },
      { path: "/docs/reconcile", title: "Reconcile a day", file: "lenders/reconcile.md" },
      { path: "/docs/keys", title: "Keys", file: "lenders/keys.md" },
    ],
  },
  {
    title: "Look up",
    pages: [
      { path: "/docs/reference", title: "API reference" },
      { path: "/docs/errors", title: "Errors", file: "lenders/errors.md" },
      { path: "/docs/contract", title: "Contract", file: "interface.md" },
    ],
  },
  {
    title: "Tools",
    pages: [
      { path: "/docs/signature", title: "Signature debugger" },
      { path: "/docs/sdk", title: "SDK for Node", file: "lenders/sdk.md" },
      { path: "/docs/conformance", title: "Conformance kit", file: "lenders/conformance.md" },
    ],
  },
  { title: "For the app", pages: [{ path: "/docs/app", title: "Field-partner app", file: "field-app/README.md" }] },
  {
    title: "Packages",
    pages: [{ path: "/docs/examples", title: "Examples", file: "../examples/README.md" }, ...packagePages()],
  },
]
  .map(({ title, pages }) => ({ title, pages: pages.filter(({ file }) => !file || existsSync(new URL(file, DOCS))) }))
  .filter(({ pages }) => pages.length > 0);

/**
 * Returns one page for each package, with its README. Returns no pages if the service is installed without the
 * repository.
 */
function packagePages(): Page[] {
  const packages = new URL("../packages/", DOCS);
  if (!existsSync(packages)) return [];
  return readdirSync(packages)
    .toSorted()
    .map((name) => ({ path: `/docs/packages/${name}`, title: name, file: `../packages/${name}/README.md` }));
}
