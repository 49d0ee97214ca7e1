// FlowSchema says which requests belong together and at which priority level they are served; PriorityLevelConfig how many seats a level has
// and what happens without a free one. Both are handed in. Used by flow-classifier.ts and flow-control.ts. Source: flowcontrol/v1 types.

/** Says which requests belong to which priority level, and how they are told apart there. */
export interface FlowSchema {
  readonly name: string;
  /** "" for a schema that is not stored. */
  readonly uid: string;
  /** Schemas of a smaller number are asked first; among equal ones the name decides. */
  readonly precedence: number;
  readonly levelName: string;
  /** What tells the flows of the schema apart. */
  readonly distinguisher: 'user' | 'namespace' | 'none';
  readonly rules: readonly FlowRule[];
}

/** Matches requests of one of the subjects for one of the resources or paths. */
export interface FlowRule {
  readonly subjects: readonly FlowSubject[];
  readonly resourceRules: readonly ResourceFlowRule[];
  readonly pathRules: readonly PathFlowRule[];
}

/** A name "*" stands for all. */
export type FlowSubject =
  | { readonly type: 'user' | 'group'; readonly name: string }
  | { readonly type: 'serviceAccount'; readonly namespace: string; readonly name: string };

/** A list ["*"] stands for all values. */
export interface ResourceFlowRule {
  readonly verbs: readonly string[];
  readonly groups: readonly string[];
  /** Resources and subresources: "widgets", "widgets/status". */
  readonly resources: readonly string[];
  readonly namespaces: readonly string[];
  /** Whether requests without a namespace match. */
  readonly clusterScope: boolean;
}

/** The paths of a FlowSchema's rule. */
export interface PathFlowRule {
  readonly verbs: readonly string[];
  /** Each matches itself and what is below it, with or without "/*" at its end. */
  readonly paths: readonly string[];
}

/** How the requests of a level that find no seat wait. */
export interface Queuing {
  readonly queues: number;
  /** Queues that a flow may use. */
  readonly handSize: number;
  /** Requests that may wait in one queue. */
  readonly queueLengthLimit: number;
}

/** The share of a priority level, and what becomes of requests that find no room. */
export interface PriorityLevelConfig {
  readonly name: string;
  /** "" for a level that is not stored. */
  readonly uid: string;
  /** Share of the server's seats, relative to the shares of the other levels. */
  readonly shares: number;
  /** Percentage of its seats that others may borrow. */
  readonly lendablePercent: number;
  /** How much the level may borrow, in percent of its seats. Undefined = no limit. */
  readonly borrowingLimitPercent: number | undefined;
  /** 'none': requests without a seat are refused. 'unlimited': every request runs at once. */
  readonly queuing: Queuing | 'none' | 'unlimited';
}

/** FlowSchemas and priority levels that hold together. */
export interface FlowConfiguration {
  /** In any order. Those whose level is absent match nothing. */
  readonly schemas: readonly FlowSchema[];
  readonly levels: readonly PriorityLevelConfig[];
  /** Name of the schema for requests that none matches. */
  readonly fallback: string;
}

/** What a request asks for, as far as rules look at it. */
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
