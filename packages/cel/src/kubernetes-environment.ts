// The environments of Kubernetes: the libraries of each version. New expressions compile in the version before the
// present one, so that a server that is rolled back still understands them; stored ones compile in the newest.
import { Environment, type Extension } from './environment/environment.ts';
import type { Library } from './environment/library.ts';
import { authorizerLibrary, authorizerSelectorsLibrary } from './libraries/authorizer.ts';
import { cidrLibrary } from './libraries/cidr.ts';
import { extendedListsLibrary } from './libraries/extended-lists.ts';
import { formatLibrary } from './libraries/format.ts';
import { ipLibrary } from './libraries/ip.ts';
import { listsLibrary } from './libraries/lists.ts';
import { optionalsLibrary } from './libraries/optionals.ts';
import { quantityLibrary } from './libraries/quantity.ts';
import { regexLibrary } from './libraries/regex.ts';
import { semverLibrary } from './libraries/semver.ts';
import { setsLibrary } from './libraries/sets.ts';
import { standardLibrary } from './libraries/standard.ts';
import { stringsLibrary, stringsLibraryV2 } from './libraries/strings.ts';
import { twoVariablesLibrary } from './libraries/two-variables.ts';
import { urlsLibrary } from './libraries/urls.ts';
import { wellKnownTypes } from './libraries/well-known-types.ts';

/** A library with the minor versions of Kubernetes 1 that have it. */
interface VersionedLibrary {
  readonly library: Library;
  readonly since: number;
  /** The first version without it. */
  readonly until?: number;
}

const libraries: readonly VersionedLibrary[] = [
  { library: standardLibrary, since: 0 },
  { library: urlsLibrary, since: 0 },
  { library: regexLibrary, since: 0 },
  { library: listsLibrary, since: 0 },
  { library: authorizerLibrary, since: 27 },
  { library: optionalsLibrary, since: 28 },
  { library: quantityLibrary, since: 28 },
  { library: stringsLibrary, since: 0, until: 29 },
  { library: stringsLibraryV2, since: 29 },
  { library: setsLibrary, since: 29 },
  { library: ipLibrary, since: 30 },
  { library: cidrLibrary, since: 30 },
  { library: formatLibrary, since: 31 },
  { library: authorizerSelectorsLibrary, since: 31 },
  { library: twoVariablesLibrary, since: 32 },
  { library: semverLibrary, since: 33 },
  { library: extendedListsLibrary, since: 34 },
];

const newestMinor = 36;

const environments = new Map<number, Environment>();

/** Returns the environment of a version such as `1.35`. Throws RangeError for a version that does not exist (yet). */
export function kubernetesEnvironment(version: string): Environment {
  const [, minorText = ''] = /^v?1\.(\d+)$/.exec(version) ?? [];
  const minor = Number(minorText);
  if (minorText === '' || minor < 23 || minor > newestMinor) {
    throw new RangeError(`there is no environment for version '${version}': known are 1.23 to 1.${newestMinor}`);
  }
  const known = environments.get(minor);
  if (known !== undefined) return known;
  const environment = Environment.empty().extend(extensionOf(minor));
  environments.set(minor, environment);
  return environment;
}

function extensionOf(minor: number): Extension {
  const present = libraries.filter(({ since, until }) => minor >= since && (until === undefined || minor < until));
  return {
    libraries: present.map(({ library }) => library),
    provider: wellKnownTypes,
    comparesNumbers: minor >= 28,
    validation: { requiresSameTypes: true, checksLiterals: minor >= 29 },
  };
}

/** Returns the environment of expressions that users send. */
export function newExpressions(): Environment {
  return kubernetesEnvironment(`1.${newestMinor - 1}`);
}

/** Returns the environment of expressions that are stored. */
export function storedExpressions(): Environment {
  return kubernetesEnvironment(`1.${newestMinor}`);
}
