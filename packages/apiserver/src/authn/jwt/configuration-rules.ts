// The rules of an AuthenticationConfiguration, which also compile its expressions. Used at the start and when the file
// changes, so it runs in slices. Source: apiserver pkg/apis/apiserver/validation, from which the texts and paths are
// taken.
import { X509Certificate } from 'node:crypto';
import { dnsSubdomainErrors, type FieldError } from '@kapstan/api/errors';
import type { SlicedWork } from '@kapstan/api/internal';
import { type CompiledExpression, parseUrl } from '@kapstan/cel';
import { collectFieldErrorsInSlices, type Field } from '../../registry/meta/field.ts';
import type {
  AuthenticationConfiguration,
  ClaimMappings,
  ClaimOrExpression,
  ClaimValidationRule,
  ExtraMapping,
  IssuerConfiguration,
  JwtConfiguration,
  PrefixedClaimOrExpression,
  UserValidationRule,
} from './authentication-configuration.ts';
import { compileExpression, type ExpressionSubject } from './claim-expressions.ts';

/** A rule that must be true. */
export interface CompiledRule {
  readonly expression: CompiledExpression;
  readonly message: string;
}

/** The expressions of one issuer. Absent = a claim is used, or nothing. */
export interface CompiledMappings {
  username?: CompiledExpression;
  groups?: CompiledExpression;
  uid?: CompiledExpression;
  readonly extra: { readonly key: string; readonly expression: CompiledExpression }[];
  readonly claimRules: CompiledRule[];
  readonly userRules: CompiledRule[];
}

export interface CheckedConfiguration {
  readonly errors: readonly FieldError[];
  /** Mappings in the order of the issuers. Complete only if there are no errors. */
  readonly mappings: readonly CompiledMappings[];
}

/** Maximum number of issuers in a configuration. */
const maxIssuers = 64;

/** Checks the configuration. `disallowedIssuers`: issuers of the tokens that the server itself issues. */
export function* checkAuthenticationConfiguration(
  { jwt = [], anonymous }: AuthenticationConfiguration,
  disallowedIssuers: readonly string[],
): SlicedWork<CheckedConfiguration> {
  const mappings: CompiledMappings[] = [];
  const errors = yield* collectFieldErrorsInSlices((root) => {
    root.later(function* () {
      const at = root.child('jwt');
      if (jwt.length > maxIssuers) return at.tooMany(jwt.length, maxIssuers);
      const seen = new SeenUrls();
      for (const [index, authenticator] of jwt.entries()) {
        mappings.push(yield* checkAuthenticator(at.index(index), authenticator, disallowedIssuers));
        seen.add(at.index(index).child('issuer'), authenticator.issuer ?? {});
      }
      const { enabled = false, conditions = [] } = anonymous ?? {};
      if (enabled || conditions.length === 0) return;
      // Go's JSON of the type inside kube-apiserver, which has no names for JSON.
      const shown = conditions.map(({ path = '' }) => ({ Path: path }));
      root.child('anonymous', 'conditions').invalid(shown, 'enabled should be set to true when conditions are defined');
    });
  });
  return { errors, mappings };
}

class SeenUrls {
  readonly #issuers = new Set<string>();
  readonly #discovery = new Set<string>();

  add(at: Field, { url = '', discoveryURL = '' }: IssuerConfiguration): void {
    if (this.#issuers.has(url)) at.child('url').duplicate(url);
    this.#issuers.add(url);
    if (discoveryURL === '') return;
    if (this.#discovery.has(discoveryURL)) at.child('discoveryURL').duplicate(discoveryURL);
    this.#discovery.add(discoveryURL);
  }
}

function* checkAuthenticator(
  at: Field,
  { issuer = {}, claimValidationRules = [], claimMappings = {}, userValidationRules = [] }: JwtConfiguration,
  disallowedIssuers: readonly string[],
): SlicedWork<CompiledMappings> {
  const compiled: CompiledMappings = { extra: [], claimRules: [], userRules: [] };
  checkIssuer(at.child('issuer'), issuer, disallowedIssuers);
  yield* checkClaimRules(at.child('claimValidationRules'), claimValidationRules, compiled);
  yield* checkMappings(at.child('claimMappings'), claimMappings, compiled);
  yield* checkUserRules(at.child('userValidationRules'), userValidationRules, compiled);
  return compiled;
}

function checkIssuer(at: Field, issuer: IssuerConfiguration, disallowedIssuers: readonly string[]): void {
  const { url = '', discoveryURL = '', certificateAuthority = '', egressSelectorType = '' } = issuer;
  if (url === '') at.child('url').required();
  else checkUrl(at.child('url'), url, disallowedIssuers);
  if (discoveryURL !== '') checkDiscoveryUrl(at.child('discoveryURL'), discoveryURL, url);
  checkAudiences(at, issuer);
  const fault = authorityFault(certificateAuthority);
  if (fault !== undefined) at.child('certificateAuthority').invalid('<omitted>', fault);
  if (!['', 'controlplane', 'cluster'].includes(egressSelectorType)) {
    at.child('egressSelectorType').invalid(
      egressSelectorType,
      'egress selector must be either controlplane or cluster',
    );
  }
}

function checkDiscoveryUrl(at: Field, discoveryUrl: string, url: string): void {
  const bare = (text: string): string => text.replace(/\/+$/, '');
  if (url !== '' && bare(url) === bare(discoveryUrl))
    at.invalid(discoveryUrl, 'discoveryURL must be different from URL');
  checkUrl(at, discoveryUrl, []);
}

function checkUrl(at: Field, text: string, disallowed: readonly string[]): void {
  if (disallowed.includes(text)) {
    at.invalid(text, `URL must not overlap with disallowed issuers: [${[...disallowed].sort().join(' ')}]`);
  }
  const url = parseUrl(text);
  if (typeof url === 'string') return at.invalid(text, url);
  if (url.scheme !== 'https') at.invalid(text, 'URL scheme must be https');
  if (url.user !== undefined) at.invalid(text, 'URL must not contain a username or password');
  if (url.rawQuery !== '') at.invalid(text, 'URL must not contain a query');
  if (url.fragment !== '') at.invalid(text, 'URL must not contain a fragment');
}

function checkAudiences(at: Field, { audiences = [], audienceMatchPolicy: policy = '' }: IssuerConfiguration): void {
  const place = at.child('audiences');
  if (audiences.length === 0) return place.required(`at least one ${place.path} is required`);
  const seen = new Set<string>();
  place.each(audiences, (audience, item) => {
    if (audience === '') item.required();
    if (seen.has(audience)) item.duplicate(audience);
    seen.add(audience);
  });
  const any = 'MatchAny';
  const where = at.child('audienceMatchPolicy');
  if (audiences.length > 1 && policy !== any) {
    where.invalid(policy, `audienceMatchPolicy must be ${any} for multiple audiences`);
  }
  if (audiences.length === 1 && policy !== '' && policy !== any) {
    where.invalid(policy, `audienceMatchPolicy must be empty or ${any} for single audience`);
  }
}

/** Returns the fault of the authorities. Source: client-go cert.NewPoolFromBytes. */
function authorityFault(pem: string): string | undefined {
  if (pem === '') return undefined;
  const blocks = [...pem.matchAll(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g)];
  if (blocks.length === 0) return 'data does not contain any valid RSA or ECDSA certificates';
  return blocks.every(([block]) => isCertificate(block)) ? undefined : 'x509: malformed certificate';
}

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).subject !== undefined;
  } catch (error) {
    if (error instanceof Error) return false;
    throw error;
  }
}

/** Compiles an expression, or reports why it is invalid. */
function* compiledAt(
  at: Field,
  text: string,
  kind: { readonly subject: ExpressionSubject; readonly isCondition: boolean },
): SlicedWork<CompiledExpression | undefined> {
  yield;
  const compiled = yield* compileExpression(text, kind);
  if (!('fault' in compiled)) return compiled;
  if (compiled.isInternal) at.internal(compiled.fault);
  else at.invalid(text, compiled.fault);
  return undefined;
}

const claimCondition = { subject: 'claims', isCondition: true } as const;
const claimMapping = { subject: 'claims', isCondition: false } as const;
const userCondition = { subject: 'user', isCondition: true } as const;
const bothSet = "claim and expression can't both be set";

function* checkClaimRules(
  at: Field,
  rules: readonly ClaimValidationRule[],
  compiled: CompiledMappings,
): SlicedWork<void> {
  const claims = new Set<string>();
  const expressions = new Set<string>();
  for (const [index, rule] of rules.entries()) {
    const place = at.index(index);
    const { claim = '', expression = '' } = rule;
    if (claim !== '' && expression !== '') place.invalid(claim, bothSet);
    else if (claim === '' && expression === '') place.required('claim or expression is required');
    else if (claim !== '') checkRequiredClaim(place, rule, claims);
    else yield* checkClaimCondition(place, rule, { seen: expressions, compiled });
  }
}

function checkRequiredClaim(at: Field, { claim = '', message = '' }: ClaimValidationRule, seen: Set<string>): void {
  if (message !== '') at.child('message').invalid(message, 'may not be specified when claim is set');
  if (seen.has(claim)) at.child('claim').duplicate(claim);
  seen.add(claim);
}

function* checkClaimCondition(
  at: Field,
  { expression = '', requiredValue = '', message = '' }: ClaimValidationRule,
  { seen, compiled }: { readonly seen: Set<string>; readonly compiled: CompiledMappings },
): SlicedWork<void> {
  if (requiredValue !== '') {
    at.child('requiredValue').invalid(requiredValue, 'may not be specified when expression is set');
  }
  const made = yield* compiledOnce(at.child('expression'), expression, { seen, kind: claimCondition });
  if (made !== undefined) compiled.claimRules.push({ expression: made, message });
}

/** Compiles an expression that may occur in a list only once. */
function* compiledOnce(
  at: Field,
  text: string,
  { seen, kind }: { readonly seen: Set<string>; readonly kind: typeof claimCondition | typeof userCondition },
): SlicedWork<CompiledExpression | undefined> {
  if (seen.has(text)) {
    at.duplicate(text);
    return undefined;
  }
  seen.add(text);
  return yield* compiledAt(at, text, kind);
}

function* checkUserRules(
  at: Field,
  rules: readonly UserValidationRule[],
  compiled: CompiledMappings,
): SlicedWork<void> {
  const seen = new Set<string>();
  for (const [index, { expression = '', message = '' }] of rules.entries()) {
    const place = at.index(index).child('expression');
    if (expression === '') place.required();
    else {
      const made = yield* compiledOnce(place, expression, { seen, kind: userCondition });
      if (made !== undefined) compiled.userRules.push({ expression: made, message });
    }
  }
}

function* checkMappings(
  at: Field,
  { username = {}, groups = {}, uid = {}, extra = [] }: ClaimMappings,
  compiled: CompiledMappings,
): SlicedWork<void> {
  const userAt = at.child('username');
  if (!username.claim && !username.expression) userAt.required('claim or expression is required');
  const ofUser = yield* checkPrefixed(userAt, username);
  if (ofUser !== undefined) compiled.username = ofUser;
  const ofGroups = yield* checkPrefixed(at.child('groups'), groups);
  if (ofGroups !== undefined) compiled.groups = ofGroups;
  const ofUid = yield* checkUid(at.child('uid'), uid);
  if (ofUid !== undefined) compiled.uid = ofUid;
  yield* checkExtra(at.child('extra'), extra, compiled);
  checkEmail(userAt.child('expression'), username, compiled);
}

function* checkPrefixed(
  at: Field,
  { claim = '', expression = '', prefix }: PrefixedClaimOrExpression,
): SlicedWork<CompiledExpression | undefined> {
  if (claim !== '' && expression !== '') at.invalid('', bothSet);
  else if (expression !== '') {
    if (prefix !== undefined) at.child('prefix').invalid(prefix, 'may not be specified when expression is set');
    const compiled = yield* compiledAt(at.child('expression'), expression, claimMapping);
    return prefix === undefined ? compiled : undefined;
  } else if (claim !== '' && prefix === undefined) {
    const why = 'prefix is required when claim is set. It can be set to an empty string to disable prefixing';
    at.child('prefix').required(why);
  }
  return undefined;
}

function* checkUid(
  at: Field,
  { claim = '', expression = '' }: ClaimOrExpression,
): SlicedWork<CompiledExpression | undefined> {
  if (claim !== '' && expression !== '') at.invalid('', bothSet);
  else if (expression !== '') return yield* compiledAt(at.child('expression'), expression, claimMapping);
  return undefined;
}

function* checkExtra(at: Field, extra: readonly ExtraMapping[], compiled: CompiledMappings): SlicedWork<void> {
  const seen = new Set<string>();
  for (const [index, { key = '', valueExpression = '' }] of extra.entries()) {
    const place = at.index(index);
    checkExtraKey(place.child('key'), key);
    if (seen.has(key)) {
      place.child('key').duplicate(key);
      continue;
    }
    seen.add(key);
    const value = place.child('valueExpression');
    if (valueExpression === '') value.required();
    else {
      const expression = yield* compiledAt(value, valueExpression, claimMapping);
      if (expression !== undefined) compiled.extra.push({ key, expression });
    }
  }
}

const pathPattern = String.raw`[A-Za-z0-9/\-._~%!$&'()*+,;=:]+`;

function checkExtraKey(at: Field, key: string): void {
  checkDomainPrefixed(at, key);
  if (key !== key.toLowerCase()) at.invalid(key, 'must be lowercase');
  const slash = key.indexOf('/');
  if (slash >= 0 && /(^|\.)(kubernetes|k8s)\.io$/.test(key.slice(0, slash))) {
    at.invalid(key, 'k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use');
  }
}

/** Source: util/validation IsDomainPrefixedPath. */
function checkDomainPrefixed(at: Field, key: string): void {
  if (key === '') return at.required();
  const slash = key.indexOf('/');
  const [host, path] = [key.slice(0, Math.max(slash, 0)), key.slice(slash + 1)];
  if (host === '' || path === '') return at.invalid(key, 'must be a domain-prefixed path (such as "acme.io/foo")');
  at.invalidAll(host, dnsSubdomainErrors(host));
  if (!/^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/.test(path)) {
    at.invalid(path, `Invalid path (regex used for validation is '${pathPattern}')`);
  }
}

/** An address that nobody has verified must not become a user name unnoticed. */
function checkEmail(at: Field, username: PrefixedClaimOrExpression, compiled: CompiledMappings): void {
  if (compiled.username?.selects('claims', 'email') !== true) return;
  const all = [compiled.username, ...compiled.extra.map(({ expression }) => expression)];
  const looking = [...all, ...compiled.claimRules.map(({ expression }) => expression)];
  if (looking.some((expression) => expression.selects('claims', 'email_verified'))) return;
  at.invalid(
    username.expression,
    'claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression',
  );
}
