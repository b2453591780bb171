import { readdir, readFile } from "node:fs/promises";
import { CHANGES } from "./contents.ts";

/** One changeset: the packages that it changes, and the text for their users. */
interface Change {
  readonly packages: readonly string[];
  /** Whether it adds something. Otherwise it corrects something. */
  readonly isNew: boolean;
  readonly text: string;
}

const SERVICE = "collections";
const INTRODUCTION = "The changes since the last release, from the changesets of the repository.";

/** Returns the page of changes as Markdown: the service first, then changes of packages alone. */
export async function changesMarkdown(): Promise<string> {
  const names = (await readdir(CHANGES)).filter((name) => name.endsWith(".md")).toSorted();
  const changes = await Promise.all(
    names.map(async (name) => changeIn(await readFile(new URL(name, CHANGES), "utf8"))),
  );
  const ofService = changes.filter(({ packages }) => packages.includes(SERVICE));
  const ofPackages = changes.filter(({ packages }) => !packages.includes(SERVICE));
  return [
    "# Changes",
    INTRODUCTION,
    ...section(
      "New in the service",
      ofService.filter(({ isNew }) => isNew),
    ),
    ...section(
      "Corrected in the service",
      ofService.filter(({ isNew }) => !isNew),
    ),
    ...section(
      "New in packages",
      ofPackages.filter(({ isNew }) => isNew),
    ),
    ...section(
      "Corrected in packages",
      ofPackages.filter(({ isNew }) => !isNew),
    ),
  ].join("\n\n");
}

function changeIn(file: string): Change {
  const [, head = "", text = ""] = /^---\n(.*?)\n---\n(.*)$/s.exec(file) ?? [];
  const lines = [...head.matchAll(/^"@collections\/([\w-]+)": (\w+)$/gm)];
  return {
    packages: lines.map(([, name]) => name!),
    isNew: lines.some(([, , bump]) => bump !== "patch"),
    text: text.trim(),
  };
}

function section(title: string, changes: readonly Change[]): string[] {
  return changes.length === 0 ? [] : [`## ${title}`, changes.map(itemOf).join("\n\n")];
}

function itemOf({ packages, text }: Change): string {
  const others = packages.filter((name) => name !== SERVICE).map((name) => `\`${name}\``);
  const names = others.length === 0 ? "" : ` (${others.join(", ")})`;
  return `- ${`${text}${names}`.replaceAll("\n", "\n  ")}`;
}
