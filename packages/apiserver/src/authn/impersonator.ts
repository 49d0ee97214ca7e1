// Impersonator lets a requester act as the user in the headers if, in one of the modes of impersonation-mode.ts, the
// authorizer allows every part of that user. Source: filters/impersonation/constrained_impersonation.go, mode.go.

import { type Clock, isForbidden, systemClock } from '@kapstan/api';
import { dnsSubdomainErrors, type FieldError, formatFieldErrors, invalidField } from '@kapstan/api/errors';
import { goQuote } from '@kapstan/api/internal';
import { type AuthorizationAttributes, type Authorizer, forbiddenError, refusalReason } from '../authz/authorizer.ts';
import { mastersGroup } from '../authz/masters-authorizer.ts';
import type { UserInfo } from '../registry/definition/request-context.ts';
import {
  anonymousUser,
  authenticatedGroup,
  nodesGroup,
  serviceAccountsGroup,
  unauthenticatedGroup,
} from './authenticator.ts';
import type { WantedUser } from './impersonation.ts';
import { accountNamed, type ImpersonationMode, impersonationModes, nodeNamed } from './impersonation-mode.ts';

/** Number of users whose last successful mode is remembered; that mode is tried first. */
const rememberedUsers = 10_000;
/** Number of groups or extras from which the impersonator first asks for all at once, under the name "*". */
const many = 4;

const authentication = { group: 'authentication.k8s.io', version: 'v1' } as const;

/** The result of an attempt to act as someone else. */
export interface ImpersonationRecord {
  /** Mode of a successful attempt; "" for a failed one. */
  readonly mode: NonNullable<ImpersonationMode['constraint']> | 'legacy' | '';
  readonly decision: 'allowed' | 'denied';
  readonly durationMs: number;
}

/** The user that a request is served as, and the mode that allowed it; undefined = the old mode. */
export interface Impersonated {
  readonly user: UserInfo;
  readonly constraint: ImpersonationMode['constraint'];
}

export interface ImpersonatorOptions {
  readonly clock?: Clock;
  /** Called after each attempt. Default: nothing. */
  readonly onAttempt?: (record: ImpersonationRecord) => void;
}

export class Impersonator {
  readonly #authorizer: Authorizer;
  readonly #clock: Clock;
  readonly #onAttempt: (record: ImpersonationRecord) => void;
  readonly #lastModes = new Map<string, ImpersonationMode>();

  constructor(authorizer: Authorizer, options: ImpersonatorOptions = {}) {
    this.#authorizer = authorizer;
    this.#clock = options.clock ?? systemClock;
    this.#onAttempt = options.onAttempt ?? (() => undefined);
  }

  /**
   * Returns the user to continue as. `attributes`: the request as made by the requester. Throws the refusal of the
   * first mode that fits.
   */
  async impersonate(wanted: WantedUser, attributes: AuthorizationAttributes): Promise<Impersonated> {
    const last = this.#lastModes.get(attributes.user.name);
    const others = impersonationModes.filter((mode) => mode !== last && mode.fits(wanted, attributes.user));
    const modes = last?.fits(wanted, attributes.user) === true ? [last, ...others] : others;
    const startMs = this.#clock.monotonicNow();
    const record = (mode: ImpersonationRecord['mode'], decision: ImpersonationRecord['decision']): void =>
      this.#onAttempt({ mode, decision, durationMs: this.#clock.monotonicNow() - startMs });
    let refusal: unknown;
    for (const mode of modes) {
      try {
        const user = await new Attempt(this.#authorizer, mode, { wanted, attributes }).run();
        this.#remember(attributes.user.name, mode);
        record(mode.constraint ?? 'legacy', 'allowed');
        return { user, constraint: mode.constraint };
      } catch (error) {
        refusal = isForbidden(error) ? (refusal ?? error) : error;
        if (!isForbidden(error)) break;
      }
    }
    record('', 'denied');
    throw refusal;
  }

  #remember(name: string, mode: ImpersonationMode): void {
    this.#lastModes.delete(name);
    this.#lastModes.set(name, mode);
    if (this.#lastModes.size <= rememberedUsers) return;
    for (const oldest of this.#lastModes.keys()) {
      this.#lastModes.delete(oldest);
      return;
    }
  }
}

type Part = {
  readonly resource: string;
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly namespace?: string;
  readonly subresource?: string;
};

/** One mode, tried for one request. */
class Attempt {
  readonly #authorizer: Authorizer;
  readonly #mode: ImpersonationMode;
  readonly #wanted: WantedUser;
  readonly #attributes: AuthorizationAttributes;

  constructor(
    authorizer: Authorizer,
    mode: ImpersonationMode,
    request: { readonly wanted: WantedUser; readonly attributes: AuthorizationAttributes },
  ) {
    this.#authorizer = authorizer;
    this.#mode = mode;
    this.#wanted = request.wanted;
    this.#attributes = request.attributes;
  }

  /** Rejects with 403 for the first part that is not allowed. */
  async run(): Promise<UserInfo> {
    const { constraint } = this.#mode;
    const { uid } = this.#wanted;
    if (constraint !== undefined) {
      const verb = `impersonate-on:${constraint}:${this.#attributes.verb}`;
      await this.#require({ ...this.#attributes, verb });
    }
    await this.#requirePart(this.#namePart());
    if (uid !== '') await this.#requirePart({ ...authentication, resource: 'uids', name: uid });
    await this.#requireGroups();
    await this.#requireExtra();
    return userOf(this.#wanted, this.#mode);
  }

  #namePart(): Part {
    const { name } = this.#wanted;
    const { constraint } = this.#mode;
    const account = accountNamed(name);
    if (account !== undefined) return { ...this.#nameGroup(), resource: 'serviceaccounts', ...account };
    const node = constraint === undefined ? undefined : nodeNamed(name);
    if (node !== undefined) return { ...this.#nameGroup(), resource: 'nodes', name: node };
    return { ...this.#nameGroup(), resource: 'users', name };
  }

  /** The old mode has user names and groups in the core group. */
  #nameGroup(): { readonly group: string; readonly version: string } {
    return this.#mode.constraint === undefined ? { group: '', version: 'v1' } : authentication;
  }

  async #requireGroups(): Promise<void> {
    const { groups } = this.#wanted;
    const part = { ...this.#nameGroup(), resource: 'groups', name: '' };
    if (this.#mode.constraint !== undefined) {
      if (groups.includes('')) throw this.#refusal(part, 'impersonating the empty string group is not allowed');
      if (groups.includes(mastersGroup)) {
        throw this.#refusal({ ...part, name: mastersGroup }, 'impersonating the system:masters group is not allowed');
      }
      if (groups.length >= many && (await this.#isPartAllowed({ ...part, name: '*' }))) return;
    }
    for (const name of groups) await this.#requirePart({ ...part, name });
  }

  async #requireExtra(): Promise<void> {
    const { extra } = this.#wanted;
    if (extra.size === 0) return;
    const part = { ...authentication, resource: 'userextras', name: '' };
    if (this.#mode.constraint !== undefined) {
      const fault = extraFault(extra);
      if (fault !== undefined) throw this.#refusal(part, fault);
      const isLarge = extra.size >= many || [...extra.values()].flat().length >= many;
      if (isLarge && (await this.#isPartAllowed({ ...part, subresource: '*', name: '*' }))) return;
    }
    for (const [subresource, values] of extra) {
      for (const name of values) await this.#requirePart({ ...part, subresource, name });
    }
  }

  async #requirePart(part: Part): Promise<void> {
    await this.#require(this.#partAttributes(part));
  }

  async #isPartAllowed(part: Part): Promise<boolean> {
    return (await this.#ask(this.#partAttributes(part))).decision === 'allow';
  }

  async #require(attributes: AuthorizationAttributes): Promise<void> {
    const asked = this.#asked(attributes);
    const answer = await this.#authorizer.authorize(asked);
    if (answer.decision !== 'allow') throw forbiddenError(asked, refusalReason(answer));
  }

  #ask(attributes: AuthorizationAttributes): ReturnType<Authorizer['authorize']> {
    return this.#authorizer.authorize(this.#asked(attributes));
  }

  #asked(attributes: AuthorizationAttributes): AuthorizationAttributes {
    return this.#mode.asks?.(attributes) ?? attributes;
  }

  #refusal(part: Part, why: string): Error {
    return forbiddenError(this.#partAttributes(part), why);
  }

  #partAttributes(part: Part): AuthorizationAttributes {
    const { constraint } = this.#mode;
    const verb = constraint === undefined ? 'impersonate' : `impersonate:${constraint}`;
    return { type: 'resource', user: this.#attributes.user, verb, namespace: '', subresource: '', ...part };
  }
}

/** Returns the user with the groups that such a user always has. */
function userOf({ name, uid, groups: wanted, extra }: WantedUser, { constraint }: ImpersonationMode): UserInfo {
  const account = accountNamed(name);
  let groups = wanted;
  if (account !== undefined && wanted.length === 0) {
    groups = [serviceAccountsGroup, `${serviceAccountsGroup}:${account.namespace}`];
  } else if (constraint !== undefined && nodeNamed(name) !== undefined) groups = [nodesGroup];
  const isUnauthenticated = name === anonymousUser || groups.includes(unauthenticatedGroup);
  const group = isUnauthenticated ? unauthenticatedGroup : authenticatedGroup;
  return {
    name,
    groups: groups.includes(group) ? groups : [...groups, group],
    ...(uid === '' ? {} : { uid }),
    ...(extra.size === 0 ? {} : { extra: Object.fromEntries(extra) }),
  };
}

/** Returns the reason why the modes with a constraint refuse these extras. */
function extraFault(extra: WantedUser['extra']): string | undefined {
  for (const [key, values] of extra) {
    if (key === '') return 'impersonating the empty string key in extra is not allowed';
    const errors = prefixedPathErrors(key);
    if (errors.length > 0) return `impersonating an invalid key in extra is not allowed: ${formatFieldErrors(errors)}`;
    if (key !== key.toLowerCase()) {
      return `impersonating a non-lowercase key in extra is not allowed: ${goQuote(key)}`;
    }
    if (values.length === 0) return 'impersonating empty values in extra is not allowed';
    if (values.includes('')) return 'impersonating the empty string value in extra is not allowed';
  }
  return undefined;
}

const pathPattern = String.raw`[A-Za-z0-9/\-._~%!$&'()*+,;=:]+`;

/** Source: util/validation IsDomainPrefixedPath. */
function prefixedPathErrors(key: string): readonly FieldError[] {
  const field = 'extra.key';
  const slash = key.indexOf('/');
  if (slash <= 0 || slash === key.length - 1) {
    return [invalidField(field, key, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  }
  const host = key.slice(0, slash);
  const path = key.slice(slash + 1);
  const errors = dnsSubdomainErrors(host).map((text) => invalidField(field, host, text));
  if (/^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/.test(path)) return errors;
  return [...errors, invalidField(field, path, `Invalid path (regex used for validation is '${pathPattern}')`)];
}
