import { expect, test } from "vitest";
import { type Arrow, declaredArrows, importArrows, picture, withPicture } from "./arrows.ts";
import { type WorkspacePackage, workspacePackages } from "./workspace.ts";

function aPackage(folder: string, layer: string): WorkspacePackage {
  const [, short] = folder.split("/");
  return {
    name: `@collections/${short}`,
    description: "",
    folder,
    layer,
    hasSchema: false,
    dependencies: [],
    peers: [],
  };
}

const PACKAGES = [
  aPackage("packages/flows", "flow"),
  aPackage("packages/bookings", "domain"),
  aPackage("packages/cases", "domain"),
  aPackage("packages/money", "foundation"),
];
const ARROWS: readonly Arrow[] = [
  ["@collections/flows", "@collections/bookings"],
  ["@collections/flows", "@collections/cases"],
  ["@collections/bookings", "@collections/money"],
];

test("every package declares exactly the packages that it imports", async () => {
  const packages = await workspacePackages("packages", "services", "sites", "tooling");
  const running = packages.filter(({ layer }) => layer !== "tooling");
  const fromRunning = (arrows: readonly Arrow[]) =>
    arrows.filter(([from]) => running.some(({ name }) => name === from)).map((arrow) => arrow.join(" → "));
  expect(fromRunning(await importArrows(packages))).toEqual(fromRunning(declaredArrows(packages)));
});

test("a peer of another dependency has an arrow from that dependency only", () => {
  const [bookings, money] = [aPackage("packages/bookings", "domain"), aPackage("packages/money", "foundation")];
  const jobs = { ...aPackage("packages/jobs", "foundation"), peers: ["@collections/money", "pg"] };
  const packages = [{ ...bookings, dependencies: ["@collections/money", "@collections/jobs"] }, jobs, money];
  expect(declaredArrows(packages)).toEqual([
    ["@collections/bookings", "@collections/jobs"],
    ["@collections/jobs", "@collections/money"],
  ]);
});

test("the diagram has one arrow to a layer in place of the arrows to all packages of the layer", () => {
  expect(picture(PACKAGES, ARROWS)).toBe(`flowchart TB
  subgraph all_flows["flows"]
    flows["flows"]
  end
  subgraph all_domains["domains"]
    bookings["bookings"]
    cases["cases"]
  end
  subgraph all_foundation["foundation"]
    money["money"]
  end
  flows --> all_domains
  bookings --> money`);
});

test("an additional arrow changes the diagram", () => {
  const bent: Arrow[] = [...ARROWS, ["@collections/cases", "@collections/bookings"]];
  expect(picture(PACKAGES, bent)).not.toBe(picture(PACKAGES, ARROWS));
});

test("withPicture replaces the diagram in ARCHITECTURE.md and leaves the other text unchanged", () => {
  const place =
    "Before.\n\n<!-- The arrows, as `pnpm surface:record` has read them from the code. -->\nold\n<!-- The end of the arrows. -->\n\nAfter.\n";
  const once = withPicture(place, "flowchart TB");
  expect(once).toMatch(
    /^Before\.\n\n<!-- The arrows.*-->\n\n```mermaid\nflowchart TB\n```\n\n<!-- The end.*-->\n\nAfter\.\n$/,
  );
  expect(withPicture(once, "flowchart TB")).toBe(once);
  expect(() => withPicture("No place.", "flowchart TB")).toThrow("ARCHITECTURE.md has no place for the arrows");
});
