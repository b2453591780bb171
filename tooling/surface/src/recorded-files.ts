import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { apiReport } from "./api-report.ts";
import { declaredArrows, picture, withPicture } from "./arrows.ts";
import { withDeclarations } from "./compiler.ts";
import { readSurface, type Surface } from "./surface.ts";
import { ROOT, workspacePackages } from "./workspace.ts";

/** The file with the diagram of the packages. */
export const ARCHITECTURE = "ARCHITECTURE.md";

/** The exports of all packages under packages/, read from their present sources. */
export async function readSurfaces(): Promise<Surface[]> {
  const packages = await workspacePackages("packages");
  return withDeclarations(packages, async (folder) => packages.map((one) => readSurface(one, folder)));
}

/** Returns the expected text of every file that is generated from the code, by the path below the root. */
export async function recordedFiles(surfaces?: readonly Surface[]): Promise<Map<string, string>> {
  const reports = (surfaces ?? (await readSurfaces())).map(
    async (surface) => [`${surface.of.folder}/api.md`, await apiReport(surface)] as const,
  );
  return new Map([...(await Promise.all(reports)), [ARCHITECTURE, await architecture()]]);
}

async function architecture(): Promise<string> {
  const packages = await workspacePackages("packages", "services", "sites", "tooling");
  const running = packages.filter(({ layer }) => layer !== "tooling");
  const arrows = declaredArrows(packages).filter(([from]) => running.some(({ name }) => name === from));
  return withPicture(await readFile(join(ROOT, ARCHITECTURE), "utf8"), picture(packages, arrows));
}
