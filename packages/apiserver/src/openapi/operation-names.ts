// Names operations for client generators: the id ("listAppsV1NamespacedDeployment"), the tag of group and version, and
// a description. Source: apiserver endpoints/installer.go, endpoints/openapi/openapi.go (GetOperationIDAndTags).
import type { GroupVersion } from '@kapstan/api/internal';

export interface NamedOperation {
  readonly of: GroupVersion;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Verb of the API; "watchlist" for a watch of many, "connect" for requests that are passed on to another server. */
  readonly verb: string;
  /** HTTP method. */
  readonly method: string;
  /** "" = the object itself. */
  readonly subresource: string;
  /** True for the list across all namespaces. */
  readonly forAllNamespaces: boolean;
  /** The rest of the path belongs to the request. */
  readonly withPath: boolean;
  /** True for a list of a built-in kind, whose documentation mentions watches; false for custom resources. */
  readonly saysWatch: boolean;
}

const words: ReadonlyMap<string, string> = new Map([
  ['get', 'read'],
  ['update', 'replace'],
  ['deletecollection', 'delete'],
  ['watchlist', 'watch'],
]);

export function operationId(operation: NamedOperation): string {
  const { of, kind, namespaced, verb, subresource, forAllNamespaces, withPath } = operation;
  const scope = namespaced && !forAllNamespaces ? 'Namespaced' : '';
  const list = verb === 'watchlist' ? 'List' : '';
  const end = `${list}${forAllNamespaces ? 'ForAllNamespaces' : ''}${withPath ? 'WithPath' : ''}`;
  const what = `${scope}${kind}${camelCase(subresource, 'Upper')}${end}`;
  const method = verb === 'connect' ? camelCase(operation.method, 'Upper') : '';
  const collection = verb === 'deletecollection' ? 'Collection' : '';
  const where = `${camelCase(groupName(of), 'Upper')}${camelCase(of.version, 'Upper')}`;
  return `${words.get(verb) ?? verb}${where}${method}${collection}${what}`;
}

export function operationTag(of: GroupVersion): string {
  return `${camelCase(groupName(of), 'lower')}_${camelCase(of.version, 'lower')}`;
}

const oldWatch = "deprecated: use the 'watch' parameter with a list operation instead";

export function operationText({ kind, verb, method, subresource, saysWatch }: NamedOperation): string {
  const part = subresource === '' ? '' : `${subresource} of `;
  switch (verb) {
    case 'connect':
      return `connect ${method.toUpperCase()} requests to ${part}${kind}`;
    case 'watch':
      return `watch changes to an object of kind ${kind}. ${oldWatch}, filtered to a single item with the 'fieldSelector' parameter.`;
    case 'watchlist':
      return `watch individual changes to a list of ${kind}. ${oldWatch}.`;
    case 'list':
      return `list ${saysWatch ? 'or watch ' : ''}objects of kind ${kind}`;
    case 'create':
      return `create ${part}${articleOf(kind)} ${kind}`;
    case 'delete':
      return `delete ${part}${articleOf(kind)} ${kind}`;
    case 'deletecollection':
      return `delete collection of ${kind}`;
    default: {
      const word = verb === 'patch' ? 'partially update' : (words.get(verb) ?? verb);
      return `${word} ${part}the specified ${kind}`;
    }
  }
}

/** Returns the article for "an Ingress", "a Pod". Kinds are singular. */
export function articleOf(kind: string): 'a' | 'an' {
  return /^[aeiou]/i.test(kind) ? 'an' : 'a';
}

/** Keeps letters, digits and "_"; the next letter after any other character becomes a capital. */
export function camelCase(text: string, first: 'Upper' | 'lower'): string {
  const [head = '', ...rest] = text.split(/[^A-Za-z0-9_]+/);
  return [first === 'Upper' ? capital(head) : head, ...rest.map(capital)].join('');
}

function capital(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

function groupName({ group }: GroupVersion): string {
  return group === '' ? 'core' : group.replace(/\.k8s\.io$/, '');
}
