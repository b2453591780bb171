import type { Fault, Leg } from "../fault.ts";
import { type ClusterStage, type ClusterTraffic, openClusterStage } from "./cluster-stage.ts";

export interface ClusterBlows {
  readonly traffic: ClusterTraffic;
  /** Breaks the cluster as often as the leg says, while lenders and a field partner go on. */
  strikeAll(stage: ClusterStage, leg: Leg): Promise<void>;
}

/** Strikes a cluster under traffic, lets everything come to rest, and judges the invariants. */
export function underClusterTraffic({ traffic, strikeAll }: ClusterBlows): Fault["run"] {
  return async (leg) => {
    const stage = await openClusterStage(leg.seed);
    try {
      const { model } = stage;
      const underWay = stage.startTraffic(traffic);
      try {
        await strikeAll(stage, leg);
      } catch (error) {
        model.odd(`strike ${model.counts.strikes + 1}: ${String(error)}`);
      }
      await underWay.stop();
      return await stage.judge(leg.onProgress);
    } finally {
      await stage.close();
    }
  };
}
