// Verbs of rights. RBAC takes any text for a verb and then grants nothing that anybody asks for, so a misspelt one is found here.
import { inspect } from 'node:util';
import { nearestName } from '@kapstan/api/internal';

/** Words of needs() that stand for several verbs. */
const groups: Readonly<Record<string, readonly string[]>> = {
  read: ['get', 'list', 'watch'],
  apply: ['create', 'patch'],
};

/**
 * The verbs of requests, and those that Kubernetes' own plug-ins ask about. Source: kubernetes.io "Authorization", request verbs; "*" is
 * rbac.VerbAll.
 */
const requestVerbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];
const furtherVerbs = ['approve', 'attest', 'bind', 'escalate', 'impersonate', 'sign', 'use', '*'];
const known = [...Object.keys(groups), ...requestVerbs, ...furtherVerbs];
/** Methods of HTTP that are no verbs, although they look like them. */
const methods: Readonly<Record<string, string>> = { post: 'create', put: 'update' };

/**
 * Returns the verbs in the words of RBAC. Other servers may ask about verbs of their own, so only what looks like a misspelling of a known
 * one is a TypeError.
 */
export function rbacVerbs(verbs: readonly string[]): readonly string[] {
  return verbs.flatMap((verb) => {
    if (Object.hasOwn(groups, verb)) return groups[verb] ?? [];
    requireVerb(verb);
    return [verb];
  });
}

function requireVerb(verb: string): void {
  if (known.includes(verb)) return;
  const meant = methods[verb.toLowerCase()] ?? nearestName(verb, known);
  const isWord = /^[a-z][a-z0-9:._/-]*$/.test(verb);
  if (isWord && meant === undefined) return;
  const guess = meant === undefined ? '' : `did you mean ${JSON.stringify(meant)}? `;
  throw new TypeError(`needs(): unknown verb ${inspect(verb)}; ${guess}it takes ${known.join(', ')}`);
}
