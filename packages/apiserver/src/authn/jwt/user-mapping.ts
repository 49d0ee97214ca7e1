// UserMapping turns the claims of a verified token into a user, and checks both against the rules of the configuration.
// The expressions of one token share turns of the event loop. Used by jwt-authenticator.ts. Source: oidc.go
// (AuthenticateToken and what it calls).
import { systemClock } from '@kapstan/api';
import { TurnSlice } from '@kapstan/api/internal';
import { CelList, type CompiledExpression, listItems, perCallLimit, type VariableSource } from '@kapstan/cel';
import type { UserInfo } from '../../registry/definition/request-context.ts';
import type { Claims } from '../token-claims.ts';
import type { ClaimMappings, JwtConfiguration } from './authentication-configuration.ts';
import { claimsValue, userValue } from './claim-values.ts';
import type { CompiledMappings, CompiledRule } from './configuration-rules.ts';
import { booleanClaim, TokenError, textClaim, textsClaim } from './id-token.ts';

const credentialIdKey = 'authentication.kubernetes.io/credential-id';

export class UserMapping {
  readonly #mappings: ClaimMappings;
  readonly #compiled: CompiledMappings;
  readonly #required: readonly (readonly [claim: string, value: string])[];

  constructor({ claimMappings = {}, claimValidationRules = [] }: JwtConfiguration, compiled: CompiledMappings) {
    this.#mappings = claimMappings;
    this.#compiled = compiled;
    this.#required = claimValidationRules.flatMap(({ claim = '', requiredValue = '' }) =>
      claim === '' ? [] : [[claim, requiredValue] as const],
    );
  }

  /** Rejects with TokenError when a claim is missing or of the wrong type, or a rule is not met. */
  async userOf(claims: Claims): Promise<UserInfo> {
    const run = new Evaluations('claims', claimsValue(claims));
    const name = await this.#name(claims, run);
    const groups = await this.#groups(claims, run);
    const uid = await this.#uid(claims, run);
    const extra = await this.#extra(claims, run);
    const user: UserInfo = {
      name,
      groups,
      ...(uid === '' ? {} : { uid }),
      ...(extra.size === 0 ? {} : { extra: Object.fromEntries(extra) }),
    };
    this.#requireClaims(claims);
    await requireRules(this.#compiled.claimRules, run, 'oidc: error evaluating claim validation expression');
    if (this.#compiled.userRules.length > 0) {
      const ofUser = new Evaluations('user', userValue(user));
      await requireRules(this.#compiled.userRules, ofUser, 'oidc: error evaluating user info validation rule');
    }
    return user;
  }

  async #name(claims: Claims, run: Evaluations): Promise<string> {
    const { username: expression } = this.#compiled;
    const failed = 'oidc: error evaluating username claim expression';
    if (expression !== undefined) {
      const value = await run.value(expression, failed);
      if (typeof value !== 'string') throw new TokenError(`${failed}: username claim expression must return a string`);
      if (value === '') throw new TokenError('oidc: empty username via CEL expression is not allowed');
      return value;
    }
    const { claim = '', prefix = '' } = this.#mappings.username ?? {};
    const name = read(`oidc: parse username claims ${JSON.stringify(claim)}`, () => textClaim(claims, claim));
    if (claim === 'email' && Object.hasOwn(claims, 'email_verified')) {
      const isVerified = read("oidc: parse 'email_verified' claim", () => booleanClaim(claims, 'email_verified'));
      if (!isVerified) throw new TokenError('oidc: email not verified');
    }
    return prefix + name;
  }

  async #groups(claims: Claims, run: Evaluations): Promise<readonly string[]> {
    const { claim = '', prefix = '' } = this.#mappings.groups ?? {};
    if (claim !== '' && Object.hasOwn(claims, claim)) {
      const groups = read(`oidc: parse groups claim ${JSON.stringify(claim)}`, () => textsClaim(claims, claim));
      return groups.map((group) => prefix + group);
    }
    const { groups: expression } = this.#compiled;
    if (expression === undefined) return [];
    const failed = 'oidc: error evaluating group claim expression';
    return textsOf(await run.value(expression, failed), failed);
  }

  async #uid(claims: Claims, run: Evaluations): Promise<string> {
    const { claim = '' } = this.#mappings.uid ?? {};
    if (claim !== '') return read(`oidc: parse uid claim ${JSON.stringify(claim)}`, () => textClaim(claims, claim));
    const { uid: expression } = this.#compiled;
    if (expression === undefined) return '';
    const failed = 'oidc: error evaluating uid claim expression';
    const value = await run.value(expression, failed);
    if (typeof value !== 'string') throw new TokenError(`${failed}: uid claim expression must return a string`);
    return value;
  }

  async #extra(claims: Claims, run: Evaluations): Promise<ReadonlyMap<string, readonly string[]>> {
    const extra = new Map<string, readonly string[]>();
    const { jti } = claims;
    if (typeof jti === 'string' && jti !== '') extra.set(credentialIdKey, [`JTI=${jti}`]);
    for (const { key, expression } of this.#compiled.extra) {
      const value = await run.value(expression, '');
      const values = textsOf(value, `oidc: error evaluating extra claim expression: ${expression.text}`);
      if (values.length > 0) extra.set(key, values);
    }
    return extra;
  }

  /** Source: the loop over requiredClaims; only texts can be required. */
  #requireClaims(claims: Claims): void {
    for (const [claim, wanted] of this.#required) {
      if (!Object.hasOwn(claims, claim)) throw new TokenError(`oidc: required claim ${claim} not present in ID token`);
      const value = read(`oidc: parse claim ${claim}`, () => textClaim(claims, claim));
      if (value === wanted) continue;
      throw new TokenError(`oidc: required claim ${claim} value does not match. Got = ${value}, want = ${wanted}`);
    }
  }
}

async function requireRules(rules: readonly CompiledRule[], run: Evaluations, failed: string): Promise<void> {
  const values: unknown[] = [];
  for (const { expression } of rules) values.push(await run.value(expression, failed));
  for (const [index, { expression, message }] of rules.entries()) {
    if (values[index] !== true) {
      throw new TokenError(`${failed}: validation expression '${expression.text}' failed: ${message}`);
    }
  }
}

/** Adds the place to the error of reading a claim. */
function read<T>(failed: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof TokenError) {
      throw new TokenError(`${failed}: ${error.message}`, { cause: error });
    }
    throw error;
  }
}

/** Returns a text or a list of texts without the empty ones; null becomes an empty list. */
function textsOf(value: unknown, failed: string): readonly string[] {
  if (value === null) return [];
  const items = typeof value === 'string' ? [value] : itemsOf(value);
  if (items === undefined || !items.every((item) => typeof item === 'string')) {
    throw new TokenError(`${failed}: expression must return a string or a list of strings`);
  }
  return items.filter((item) => item !== '');
}

function itemsOf(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  return value instanceof CelList ? listItems(value) : undefined;
}

/** Number of evaluations after which the clock is read; small ones take some microseconds. */
const perLook = 8;

/** Evaluates expressions over one variable, one after the other, with pauses that they share. */
class Evaluations {
  readonly #source: VariableSource;
  readonly #slice: TurnSlice;
  readonly #each: TurnSlice;

  constructor(name: string, value: unknown) {
    this.#source = { find: (wanted) => (wanted === name ? value : undefined) };
    this.#slice = new TurnSlice({ clock: systemClock, itemsPerLook: perLook });
    this.#each = new TurnSlice({ clock: systemClock, itemsPerLook: 1 });
  }

  /** Rejects with TokenError when the expression has no value, or costs too much. */
  async value(expression: CompiledExpression, failed: string): Promise<unknown> {
    if (this.#slice.endsHere()) await this.#slice.nextTurn();
    const work = expression.evaluateInSlices(this.#source, { budget: perCallLimit });
    let step = work.next();
    while (step.done !== true) {
      if (step.value !== undefined) await step.value;
      if (this.#each.endsHere()) await this.#each.nextTurn();
      step = work.next();
    }
    const { value, error } = step.value;
    if (error === undefined) return value;
    const why = `expression '${expression.text}' resulted in error: ${error}`;
    throw new TokenError(failed === '' ? why : `${failed}: ${why}`);
  }
}
