// RuleList: the RuleSource of a server without stored roles and bindings. The program passes the rules as a list.
import type { UserInfo } from '../registry/definition/request-context.ts';
import type { Grant, RuleSource } from './rbac-authorizer.ts';
import type { Rule } from './rule-matching.ts';

/** Rules, and the users and groups that have them. */
export interface GrantedRules {
  /** Name of these rules, given as the reason when they allow a request. */
  readonly name: string;
  /** Names of users. Default none. */
  readonly users?: readonly string[];
  /** Names of groups. Default none. */
  readonly groups?: readonly string[];
  /** Namespace in which the rules hold. Default: everywhere. */
  readonly namespace?: string;
  readonly rules: readonly Rule[];
}

/** A list of rules, for answers to SelfSubjectRulesReview. */
export class RuleList implements RuleSource {
  readonly #granted: readonly GrantedRules[];

  constructor(granted: readonly GrantedRules[]) {
    this.#granted = granted;
  }

  *grantsOf(user: UserInfo, namespace: string): Generator<Grant> {
    for (const granted of this.#granted) {
      if (granted.namespace !== undefined && granted.namespace !== namespace) continue;
      if (isFor(granted, user)) yield { rules: granted.rules, source: () => JSON.stringify(granted.name) };
    }
  }
}

function isFor({ users = [], groups = [] }: GrantedRules, user: UserInfo): boolean {
  return users.includes(user.name) || groups.some((group) => user.groups.includes(group));
}
