// Rules of flow schemas: which users and which requests they match. Source: pkg/apis/flowcontrol/validation
// ValidateFlowSchemaPolicyRulesWithSubjects.
import type { DeepReadonly } from '@kapstan/api';
import { dnsLabelErrors, dnsSubdomainErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import type {
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
  Subject,
} from '@kapstan/kinds/flowcontrol.apiserver.k8s.io/v1';

export function validateFlowRule(at: Field, rule: DeepReadonly<PolicyRulesWithSubjects>): void {
  if ((rule.subjects?.length ?? 0) === 0) at.child('subjects').required('subjects must contain at least one value');
  at.child('subjects').each(rule.subjects, (subject, place) => validateSubject(place, subject));
  if ((rule.resourceRules?.length ?? 0) + (rule.nonResourceRules?.length ?? 0) === 0)
    at.required('at least one of resourceRules and nonResourceRules has to be non-empty');
  at.child('resourceRules').each(rule.resourceRules, (item, place) => validateResourceRule(place, item));
  at.child('nonResourceRules').each(rule.nonResourceRules, (item, place) => validateUrlRule(place, item));
}

/** The member that names the subject of each kind, in the order of Kubernetes' errors. */
const members = { ServiceAccount: 'serviceAccount', User: 'user', Group: 'group' } as const;

function validateSubject(at: Field, subject: DeepReadonly<Subject>): void {
  const own = Object.entries(members).find(([kind]) => kind === subject.kind)?.[1];
  if (own === undefined) return at.child('kind').notSupported(subject.kind, ['Group', 'ServiceAccount', 'User']);
  validateMember(at.child(own), subject, own);
  for (const [kind, member] of Object.entries(members)) {
    if (member !== own && subject[member] !== undefined)
      at.child(member).forbidden(`${member} is forbidden when subject kind is not '${kind}'`);
  }
}

function validateMember(at: Field, subject: DeepReadonly<Subject>, member: 'serviceAccount' | 'user' | 'group'): void {
  const named = subject[member];
  if (named === undefined) return at.required(`${member} is required when subject kind is '${subject.kind}'`);
  const isNamed = at.child('name').present(named.name);
  if (member !== 'serviceAccount') return;
  if (isNamed && named.name !== '*') at.child('name').invalidAll(named.name, dnsSubdomainErrors(named.name));
  const namespace = subject.serviceAccount?.namespace ?? '';
  if (namespace === '') at.child('namespace').required('must specify namespace for service account');
  else at.child('namespace').invalidAll(namespace, dnsLabelErrors(namespace));
}

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch'];

function validateVerbs(at: Field, given: readonly string[]): void {
  if (given.length === 0) return at.required('verbs must contain at least one value');
  if (given.includes('*')) return validateAlone(at, given, 'verbs');
  if (!given.every((verb) => verbs.includes(verb))) at.notSupported(given, verbs);
}

/** Refuses "*" among other values. */
function validateAlone(at: Field, given: readonly string[], others: string): void {
  if (given.length > 1 && given.includes('*')) at.invalid(given, `if '*' is present, must not specify other ${others}`);
}

function validateResourceRule(at: Field, rule: DeepReadonly<ResourcePolicyRule>): void {
  const [apiGroups, resources, namespaces] = [rule.apiGroups ?? [], rule.resources ?? [], rule.namespaces ?? []];
  validateVerbs(at.child('verbs'), rule.verbs ?? []);
  if (apiGroups.length === 0) at.child('apiGroups').required('resource rules must supply at least one api group');
  validateAlone(at.child('apiGroups'), apiGroups, 'api groups');
  if (resources.length === 0) at.child('resources').required('resource rules must supply at least one resource');
  validateAlone(at.child('resources'), resources, 'resources');
  const place = at.child('namespaces');
  if (namespaces.length === 0 && rule.clusterScope !== true)
    return place.required('resource rules that are not cluster scoped must supply at least one namespace');
  if (namespaces.includes('*')) return validateAlone(place, namespaces, 'namespaces');
  place.each(namespaces, (namespace, item) => {
    for (const message of dnsLabelErrors(namespace))
      item.invalid(namespace, `each member of this list must be '*' or a DNS-1123 label; ${message}`);
  });
}

function validateUrlRule(at: Field, rule: DeepReadonly<NonResourcePolicyRule>): void {
  validateVerbs(at.child('verbs'), rule.verbs ?? []);
  const urls = rule.nonResourceURLs ?? [];
  const place = at.child('nonResourceURLs');
  if (urls.length === 0) return place.required('nonResourceURLs must contain at least one value');
  if (urls.includes('*')) return validateAlone(place, urls, 'non-resource URLs');
  place.each(urls, (url, item) => validateUrl(item, url));
}

/** Source: ValidateNonResourceURLPath. */
function validateUrl(at: Field, url: string): void {
  const say = (why: string): void => at.invalid(url, why);
  if (url === '') return say('must not be empty');
  if (url === '/') return;
  if (!url.startsWith('/')) return say('must start with slash');
  if (url.includes(' ')) return say('must not contain white-space');
  if (url.includes('//')) return say('must not contain double slash');
  const stars = url.split('*').length - 1;
  if (stars > 1 || (stars === 1 && !url.endsWith('/*'))) say('wildcard can only do suffix matching');
}
