// The program behind `pnpm start`.
import { launch } from "./launch.mjs";

await launch("main", "main.ts");
