// Right: a permission of a controller, with its reason. Computed in rights.ts and webhook-rights.ts, put into roles by roles.ts.

/** Verbs on one resource, or on some objects of it. */
export interface Right {
  readonly group: string;
  /** The plural, with its subresource: "deployments", "foos/status". */
  readonly resource: string;
  readonly verbs: readonly string[];
  /** Names of the only objects. Absent = all. */
  readonly names?: readonly string[] | undefined;
  /** Absent = in the whole cluster. */
  readonly namespace?: string | undefined;
  /** The declaration from which it follows: "echo owns ConfigMap". */
  readonly why: string;
}
