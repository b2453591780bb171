// Runs after each `pnpm install`: builds the bundle that `pnpm start` and `pnpm collections` run. If the build fails, the
// installation still succeeds, because both commands can also run the sources.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("main.ts", import.meta.url));
const { status, stderr } = spawnSync(process.execPath, ["--disable-warning=ExperimentalWarning", program], {
  encoding: "utf8",
});
if (status !== 0) {
  process.stderr.write(`No bundle was built, so "pnpm start" and "pnpm collections" run the sources. ${stderr}\n`);
}
