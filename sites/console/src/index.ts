export { type ConsoleDesk, type Finding } from "./desk.ts";
export { type Figures, type FiguresPage, type OneDay, type Sum } from "./reads/figures.ts";
export {
  CONSOLE_ROLES,
  type ConsoleAccess,
  type ConsoleOperator,
  type ConsoleRole,
  type ProviderAccess,
  type ProviderOutcome,
  type ProviderRefusal,
} from "./access.ts";
export { type ActOutcome, CASE_ORDERS, type CaseOrderKind, type ConsoleActs } from "./acts.ts";
export type { ConsoleRoute } from "./route.ts";
export { CONSOLE_ROUTES } from "./routes.ts";
export { type ConsoleOptions, consoleSite } from "./site.ts";
