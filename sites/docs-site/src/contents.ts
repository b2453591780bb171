import { existsSync, readdirSync } from "node:fs";

/** The first page of the API reference. */
export const REFERENCE_PATH = "/docs/reference";

/** The parts of the API reference that are not the endpoints of a tag. */
export const WEBHOOKS: unique symbol = Symbol("requests that the service sends");
export const PROBLEMS: unique symbol = Symbol("error answers");

/** A page of the site, with its title in the navigation. */
export interface Page {
  readonly path: string;
  readonly title: string;
  /** If the page is a rendered file: its path, relative to docs/. */
  readonly file?: string;
  /** If the page is made from all files of a folder: the folder. */
  readonly folder?: URL;
  /** If the page is a part of the API reference: the tag in the OpenAPI document, or another part. */
  readonly reference?: string | typeof WEBHOOKS | typeof PROBLEMS;
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

/** The folder of the changesets, which the page of changes is made from. */
export const CHANGES = new URL("../.changeset/", DOCS);
export const CHANGES_PATH = "/docs/changes";

const ALL_CHAPTERS: readonly Chapter[] = [
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
      { path: "/docs/your-file", title: "Your file", file: "lenders/your-file.md" },
      { path: "/docs/keys", title: "Keys", file: "lenders/keys.md" },
      { path: "/docs/portal", title: "The portal", file: "lenders/portal.md" },
    ],
  },
  {
    title: "Look up",
    pages: [
      { path: "/docs/errors", title: "Errors", file: "lenders/errors.md" },
      { path: "/docs/contract", title: "Contract", file: "interface.md" },
      { path: CHANGES_PATH, title: "Changes", folder: CHANGES },
    ],
  },
  {
    title: "API",
    pages: [
      { path: REFERENCE_PATH, title: "API reference" },
      { path: "/docs/reference/health", title: "Health", reference: "Health" },
      { path: "/docs/reference/cases", title: "Cases", reference: "Cases" },
      { path: "/docs/reference/payments", title: "Payments", reference: "Payments" },
      { path: "/docs/reference/deliveries", title: "Deliveries", reference: "Deliveries" },
      { path: "/docs/reference/signatures", title: "Signatures", reference: "Signature debugger" },
      { path: "/docs/reference/portal", title: "Portal", reference: "Portal" },
      { path: "/docs/reference/sandbox", title: "Sandbox", reference: "Sandbox" },
      { path: "/docs/reference/received", title: "Requests to you", reference: WEBHOOKS },
      { path: "/docs/reference/problems", title: "Error objects", reference: PROBLEMS },
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
  {
    title: "For the app",
    pages: [
      { path: "/docs/app", title: "Field-partner app", file: "field-app/README.md" },
      { path: "/docs/app/codegen", title: "Generate a client", file: "field-app/codegen.md" },
    ],
  },
  {
    title: "Packages",
    pages: [
      { path: "/docs/examples", title: "Examples", file: "../examples/README.md" },
      { path: "/docs/comparison", title: "Comparison", file: "comparison.md" },
      ...packagePages(),
    ],
  },
];

/** All pages of the site, in the order of the navigation, without the files that a release does not contain. */
export const CHAPTERS: readonly Chapter[] = ALL_CHAPTERS.map(({ title, pages }) => ({
  title,
  pages: pages.filter(({ file, folder }) =>
    [file && new URL(file, DOCS), folder].every((one) => !one || existsSync(one)),
  ),
})).filter(({ pages }) => pages.length > 0);

/** All pages in the order of the navigation. */
export const PAGES: readonly Page[] = CHAPTERS.flatMap(({ pages }) => pages);

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
