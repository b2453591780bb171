export { type ConsoleDesk, type Figures, type FiguresPage, type Finding, type OneDay, type Sum } from "./desk.ts";
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
