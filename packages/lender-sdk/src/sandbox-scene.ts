import type { Answer } from "./answer.ts";

/** What is played on a loan of a sandbox. contract: POST sandbox/play */
export type SandboxScene =
  | "visit"
  | "promise"
  | "promise-kept"
  | "promise-broken"
  | "dispute"
  | "link"
  | "link-paid"
  | "reversal"
  | "reopening"
  | "reassignment";

/** An event that a scene caused. */
export interface SceneEvent {
  readonly eventId: string;
  readonly kind: string;
  readonly sequence: number;
}

/** A scene that was played, and its events. contract: POST sandbox/play */
export interface PlayedScene extends Answer {
  readonly loan: string;
  readonly scene: SandboxScene;
  /** Why the scene ended early; null if it was played to its end. */
  readonly stoppedBecause: string | null;
  readonly events: readonly SceneEvent[];
}
