import type { Fault, Leg } from "../fault.ts";
import { type ClusterStage, type ClusterTraffic, openClusterStage } from "./cluster-stage.ts";

export interface ClusterStrikes {
  readonly traffic: ClusterTraffic;
  /** Breaks the cluster as often as the leg says, under the traffic of lenders and a field partner. */
  strikeAll(stage: ClusterStage, leg: Leg): Promise<void>;
}

/** Strikes a cluster under traffic, waits until no work is left, and checks the invariants. */
export function underClusterTraffic({ traffic, strikeAll }: ClusterStrikes): Fault["run"] {
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
      return await stage.checkInvariants(leg.onProgress);
    } finally {
      await stage.close();
    }
  };
}
