// FlowSchema groups requests and names the priority level that serves them. PriorityLevelConfig gives the number of seats of a level and
// its behaviour when none is free. Both are passed in. Used by flow-classifier.ts and flow-control.ts. Source: flowcontrol/v1 types.

/** Assigns requests to a priority level, and says how their flows are distinguished there. */
export interface FlowSchema {
  readonly name: string;
  /** "" for a schema that is not stored. */
  readonly uid: string;
  /** Schemas with a lower number are asked first; the name decides between equal ones. */
  readonly precedence: number;
  readonly levelName: string;
  /** The property by which the flows of the schema are distinguished. */
  readonly distinguisher: 'user' | 'namespace' | 'none';
  readonly rules: readonly FlowRule[];
}

/** Matches requests of one of the subjects for one of the resources or paths. */
export interface FlowRule {
  readonly subjects: readonly FlowSubject[];
  readonly resourceRules: readonly ResourceFlowRule[];
  readonly pathRules: readonly PathFlowRule[];
}

/** The name "*" matches all names. */
export type FlowSubject =
  | { readonly type: 'user' | 'group'; readonly name: string }
  | { readonly type: 'serviceAccount'; readonly namespace: string; readonly name: string };

/** The list ["*"] matches all values. */
export interface ResourceFlowRule {
  readonly verbs: readonly string[];
  readonly groups: readonly string[];
  /** Resources and subresources: "widgets", "widgets/status". */
  readonly resources: readonly string[];
  readonly namespaces: readonly string[];
  /** True if requests without a namespace match. */
  readonly clusterScope: boolean;
}

/** The paths of a FlowSchema's rule. */
export interface PathFlowRule {
  readonly verbs: readonly string[];
  /** Each path matches itself and everything below it if it ends in "/*". */
  readonly paths: readonly string[];
}

/** Controls how requests of a level wait when there is no free seat. */
export interface Queuing {
  readonly queues: number;
  /** Queues that a flow may use. */
  readonly handSize: number;
  /** Requests that may wait in one queue. */
  readonly queueLengthLimit: number;
}

/** The share of a priority level, and its treatment of requests that find no room. */
export interface PriorityLevelConfig {
  readonly name: string;
  /** "" for a level that is not stored. */
  readonly uid: string;
  /** Share of the server's seats, relative to the shares of the other levels. */
  readonly shares: number;
  /** Percentage of its seats that other levels may borrow. */
  readonly lendablePercent: number;
  /** Maximum number of borrowed seats, in percent of its own. Undefined = no limit. */
  readonly borrowingLimitPercent: number | undefined;
  /** 'none': requests without a seat are refused. 'unlimited': every request runs at once. */
  readonly queuing: Queuing | 'none' | 'unlimited';
}

/** FlowSchemas and the priority levels that they refer to. */
export interface FlowConfiguration {
  /** The order does not matter. Schemas whose level is absent match nothing. */
  readonly schemas: readonly FlowSchema[];
  readonly levels: readonly PriorityLevelConfig[];
  /** Name of the schema for requests that match no other schema. */
  readonly fallback: string;
}

/** The properties of a request that rules look at. */
export type FlowTarget =
  | { readonly type: 'path'; readonly verb: string; readonly path: string }
  | {
      readonly type: 'resource';
      readonly verb: string;
      readonly path: string;
      readonly group: string;
      readonly version: string;
      readonly namespace: string;
      readonly resource: string;
      readonly subresource: string;
      readonly name: string;
    };
