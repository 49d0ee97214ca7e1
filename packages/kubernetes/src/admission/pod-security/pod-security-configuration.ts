// PodSecurityConfiguration: what holds for namespaces without labels, and who is exempt. Source:
// pod-security-admission/admission/api.

import type { NamespacePolicy } from './namespace-policy.ts';

export interface PodSecurityConfiguration {
  readonly defaults: NamespacePolicy;
  readonly exemptions: {
    readonly namespaces: ReadonlySet<string>;
    readonly usernames: ReadonlySet<string>;
    readonly runtimeClasses: ReadonlySet<string>;
  };
}

const open = { level: 'privileged', version: 'latest' } as const;

/** Nothing is forbidden where no label asks for it. */
export const defaultPodSecurity: PodSecurityConfiguration = {
  defaults: { enforce: open, audit: open, warn: open },
  exemptions: { namespaces: new Set(), usernames: new Set(), runtimeClasses: new Set() },
};
