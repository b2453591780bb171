import { defineConfig } from "vitest/config";

export default defineConfig({ test: { include: ["{packages,services,tooling}/*/{src,tests}/**/*.test.ts"] } });
