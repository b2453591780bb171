/** The state of the service. */
export interface SystemPage {
  readonly versions: readonly (readonly [name: string, value: string])[];
  /** Undefined while the first report is being made, or if it cannot be made. */
  readonly report:
    | {
        /** ISO 8601, in UTC. */
        readonly at: string;
        /** False if a node of the cluster does not answer. Only the nodes were checked then. */
        readonly isComplete: boolean;
        readonly problems: readonly {
          readonly severity: "fault" | "warning";
          readonly code: string;
          readonly lenderCode: string | null;
          readonly detail: string;
          readonly remedy: string;
        }[];
        readonly queues: readonly {
          readonly lenderCode: string;
          readonly state: string;
          readonly published: number;
          readonly delivered: number;
          readonly waiting: number;
          readonly retrying: number;
          readonly parked: number;
        }[];
      }
    | undefined;
}
