// The configuration of the plug-in ResourceQuota: resources that may be used only where a quota covers them. Source:
// apiserver pkg/admission/plugin/resourcequota/apis/resourcequota.
import type { ScopeTerm } from '../../quota/quota-scope.ts';

export interface LimitedResource {
  readonly apiGroup: string;
  readonly resource: string;
  /** Parts of the names whose use must be covered: "requests.storage". */
  readonly matchContains: readonly string[];
  /** Scopes of objects that a quota with the same scope must cover. */
  readonly matchScopes: readonly ScopeTerm[];
}
