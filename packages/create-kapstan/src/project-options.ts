// ProjectOptions: names and parts of a new project. They are checked here, before any of them becomes a path or a part of a source.
// Made from flags by command-line.ts, used by create-project.ts.

/** The error for a wrong name, path or file, which is reported without a stack. */
export class ProjectError extends Error {
  override readonly name = 'ProjectError';
}

/** Names and parts of a new project. */
export interface ProjectOptions {
  /** Name of the directory, the package, the image, the namespace and the objects in it: a DNS-1035 label of at most 40 characters. */
  readonly name: string;
  /** Group of the kind. Default "example.com". */
  readonly group?: string;
  /** Default "Greeting". */
  readonly kind?: string;
  /** The program that runs the tests. Default "vitest". */
  readonly test?: 'vitest' | 'node';
  /**
   * Directory with the packed packages (`npm pack`), which are copied into the project. Default: the packages are installed from the
   * registry.
   */
  readonly packages?: string | undefined;
  /** Writes into a directory that is not empty, and replaces files of the same name. Default false. */
  readonly force?: boolean;
}

export type ResolvedOptions = Required<ProjectOptions>;

export const defaultOptions = { group: 'example.com', kind: 'Greeting', test: 'vitest', force: false } as const;

/** The Secret of the webhooks' certificates has a name with 21 characters more, and a label has at most 63. */
const maxNameLength = 40;
/** A plural has up to two characters more. */
const maxKindLength = 60;
const maxGroupLength = 190;

/** Names in the template's sources that a kind would shadow. */
const usedNames = ['ConfigMap', 'Controller', 'RunOptions', 'TestCluster', 'Error', 'TypeError', 'Promise'];
/** npm installs no package into a package of the same name. */
const packageNames = ['rxjs', 'typescript', 'vitest'];

/** Throws ProjectError for the first option that is wrong. */
export function resolveOptions(options: ProjectOptions): ResolvedOptions {
  const { name, packages, ...rest } = options;
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  const resolved: ResolvedOptions = { ...defaultOptions, ...given, name, packages };
  requireName(resolved.name);
  requireGroup(resolved.group);
  requireKind(resolved.kind);
  if (!['vitest', 'node'].includes(resolved.test))
    throw new ProjectError(`test ${quoted(resolved.test)}: must be vitest or node`);
  return resolved;
}

const quoted = (value: unknown): string => JSON.stringify(value) ?? String(value);

function requireName(name: unknown): void {
  if (typeof name !== 'string' || !/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name) || name.length > maxNameLength)
    throw new ProjectError(
      `name ${quoted(name)}: must consist of at most ${maxNameLength} lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-controller')`,
    );
  // The name is also the name of the controller's namespace.
  if (name === 'default' || name.startsWith('kube-'))
    throw new ProjectError(
      `name ${quoted(name)}: Kubernetes has a namespace of its own under this name, or keeps it for one`,
    );
  if (packageNames.includes(name))
    throw new ProjectError(`name ${quoted(name)}: the project uses a package of this name`);
}

/** Source: apiextensions validation of groups, and of groups that Kubernetes protects. */
function requireGroup(group: unknown): void {
  const isGroup =
    typeof group === 'string' &&
    group.length <= maxGroupLength &&
    group.includes('.') &&
    group.split('.').every((label) => label.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(label));
  if (!isGroup)
    throw new ProjectError(`group ${quoted(group)}: must be a lower case DNS name with a dot (e.g. 'example.com')`);
  if (/(^|\.)(k8s|kubernetes)\.io$/.test(group))
    throw new ProjectError(`group ${quoted(group)}: is protected for Kubernetes itself; use a domain of your own`);
}

function requireKind(kind: unknown): void {
  if (typeof kind !== 'string' || !/^[A-Z][A-Za-z0-9]*$/.test(kind) || kind.length > maxKindLength)
    throw new ProjectError(
      `kind ${quoted(kind)}: must be CamelCase: at most ${maxKindLength} letters and digits, the first one a capital (e.g. 'CronTab')`,
    );
  if (usedNames.includes(kind))
    throw new ProjectError(`kind ${quoted(kind)}: the project's sources use this name for something else`);
}
