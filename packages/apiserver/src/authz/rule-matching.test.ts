import { describe, expect, it } from 'vitest';
import type { AuthorizationAttributes } from './authorizer.ts';
import { type Rule, ruleAllows, urlCovers } from './rule-matching.ts';

const user = { name: 'u', groups: [] };

/** "get apps deployments/scale name" */
function request(text: string): AuthorizationAttributes {
  const [verb = '', group = '', target = '', name = ''] = text.split(' ');
  const [resource = '', subresource = ''] = target.split('/');
  const where = { version: 'v1', namespace: '', resource, subresource, name };
  return { type: 'resource', user, verb, group: group === '""' ? '' : group, ...where };
}

const resourceRule = (verbs: string, groups: string, resources: string, names = ''): Rule => ({
  verbs: verbs.split(','),
  apiGroups: groups.split(',').map((group) => (group === '""' ? '' : group)),
  resources: resources.split(','),
  ...(names === '' ? {} : { resourceNames: names.split(',') }),
});

describe('a rule of resources', () => {
  it.each<[Rule, string, boolean]>([
    [resourceRule('get,list', '""', 'pods'), 'get "" pods', true],
    [resourceRule('get,list', '""', 'pods'), 'list "" pods', true],
    [resourceRule('get,list', '""', 'pods'), 'watch "" pods', false],
    [resourceRule('*', '""', 'pods'), 'anything "" pods', true],
    [resourceRule('get', '""', 'pods'), 'get apps pods', false],
    [resourceRule('get', '*', 'pods'), 'get apps pods', true],
    [resourceRule('get', '"",apps', 'pods'), 'get apps pods', true],
    [resourceRule('get', '""', 'pods'), 'get "" pods/log', false],
    [resourceRule('get', '""', 'pods/log'), 'get "" pods/log', true],
    [resourceRule('get', '""', 'pods/log'), 'get "" pods', false],
    [resourceRule('get', '""', '*'), 'get "" pods/log', true],
    [resourceRule('get', '""', '*/log'), 'get "" pods/log', true],
    [resourceRule('get', '""', '*/log'), 'get "" pods/syslog', false],
    [resourceRule('get', '""', '*/log'), 'get "" log', false],
    [resourceRule('get', '""', 'pods/*'), 'get "" pods/log', false],
    [resourceRule('get', '""', 'pods', 'a,b'), 'get "" pods b', true],
    [resourceRule('get', '""', 'pods', 'a,b'), 'get "" pods c', false],
    [resourceRule('list', '""', 'pods', 'a'), 'list "" pods', false],
    [resourceRule('get', '""', 'pods', '*'), 'get "" pods a', false],
    [{ verbs: ['get'], nonResourceURLs: ['*'] }, 'get "" pods', false],
  ])('%j is asked for %s and answers %s', (rule, text, isAllowed) => {
    expect(ruleAllows(rule, request(text))).toBe(isAllowed);
  });
});

describe('a rule of paths', () => {
  const rule: Rule = { verbs: ['get'], nonResourceURLs: ['/healthz', '/logs/*', '/v**'] };
  it.each<[string, string, boolean]>([
    ['get', '/healthz', true],
    ['post', '/healthz', false],
    ['get', '/healthz/', false],
    ['get', '/logs/', true],
    ['get', '/logs/a/b', true],
    ['get', '/logs', false],
    ['get', '/version', true],
    ['get', '/', false],
  ])('is asked for %s %s and answers %s', (verb, path, isAllowed) => {
    expect(ruleAllows(rule, { type: 'path', user, verb, path })).toBe(isAllowed);
    const ofResources: Rule = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
    expect(ruleAllows(ofResources, { type: 'path', user, verb, path })).toBe(false);
  });

  it('covers other patterns as if they were paths', () => {
    expect(urlCovers('/a/*', '/a/*')).toBe(true);
    expect(urlCovers('*', '/a/*')).toBe(true);
    expect(urlCovers('/a/b', '/a/*')).toBe(false);
  });
});
