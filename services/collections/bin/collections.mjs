// The program behind `pnpm collections`.
import { launch } from "./launch.mjs";

await launch("cli", "cli/main.ts");
