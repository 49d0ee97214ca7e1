// ConfiguredAuthorizers is the server's Authorizer: the group of masters, then the authorizers that its settings or its
// configuration file list. It follows the file. Opened by access-control.ts. Source: pkg/kubeapiserver/authorizer (config.go,
// reload.go).
import { stat } from 'node:fs/promises';
import type { Clock, Logger } from '@kapstan/api';
import type { MetricFamily } from '@kapstan/api/internal';
import {
  type AuthorizationAttributes,
  AuthorizationMetrics,
  type Authorizer,
  type AuthorizerConfiguration,
  type CheckedAuthorizers,
  checkAuthorizers,
  parseAuthorizationConfiguration,
  sameAuthorizers,
  type UserInfo,
} from '@kapstan/apiserver';
import { runInTurns } from '@kapstan/storage';
import { ConfigurationReader } from '../followed-file/configuration-reader.ts';
import { FollowedFile } from '../followed-file/followed-file.ts';
import { maxConfigurationBytes, readLimitedFile } from '../followed-file/limited-file.ts';
import { contentHash, ReloadMetrics } from '../followed-file/reload-metrics.ts';
import { startingWith } from '../lifetime/start-error.ts';
import { type AuthorizationSettings, authorizationModes, authorizersOfModes } from './authorization-settings.ts';
import { AuthorizerMaker } from './authorizer-maker.ts';
import { goFileError } from './go-file-error.ts';

export interface ConfiguredAuthorizersPorts {
  /** The authorizer of RBAC. */
  readonly rbac: Authorizer;
  /** The authorizer of Node. It is called when the server has such a mode. */
  readonly node: () => Authorizer;
  /** Names this server in metrics. */
  readonly server: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Interval between checks of the file, in milliseconds. Kubernetes is also notified by the system when it changes. */
const pollMs = 5_000;

interface Loaded {
  readonly text: string;
  readonly checked: CheckedAuthorizers;
}

export class ConfiguredAuthorizers implements Authorizer {
  readonly #maker: AuthorizerMaker;
  readonly #metrics: AuthorizationMetrics;
  readonly #file: FollowedFile | undefined;
  readonly #reloads: ReloadMetrics | undefined;
  /** Types that a changed file must still list. */
  readonly #required: ReadonlySet<string>;
  readonly #reader = new ConfigurationReader('authorization', parseAuthorizationConfiguration);
  #current: Authorizer;
  #loaded: readonly AuthorizerConfiguration[];

  /** Rejects with a StartError when a file is missing or wrong. */
  static async open(
    settings: AuthorizationSettings,
    ports: ConfiguredAuthorizersPorts,
  ): Promise<ConfiguredAuthorizers> {
    const { configFile } = settings;
    const metrics = new AuthorizationMetrics();
    const loaded =
      configFile === undefined
        ? { text: '', checked: { authorizers: authorizersOfModes(settings), conditions: new Map() } }
        : await startingWith('authorization.configFile', () => load(configFile, new Set()));
    const maker = await AuthorizerMaker.open(loaded.checked.authorizers, settings, { ...ports, metrics });
    const option = configFile === undefined ? 'authorization.webhook' : 'authorization.configFile';
    const first = await startingWith(option, () => maker.make(loaded.checked));
    const file = configFile === undefined ? undefined : followed(configFile, loaded.text, ports);
    return new ConfiguredAuthorizers({ loaded, first, maker, metrics, file });
  }

  private constructor({ loaded, first, maker, metrics, file }: AuthorizersParts) {
    this.#maker = maker;
    this.#metrics = metrics;
    this.#current = first;
    this.#loaded = loaded.checked.authorizers;
    this.#required = new Set(this.#loaded.map(({ type }) => type).filter((type) => type !== 'Webhook'));
    this.#file = file?.followed;
    this.#reloads = file?.reloads;
    this.#file?.follow({
      parse: async (text) => check(await this.#reader.read(text), this.#required),
      apply: (checked) => this.#apply(checked),
    });
  }

  authorize(attributes: AuthorizationAttributes): ReturnType<Authorizer['authorize']> {
    return this.#current.authorize(attributes);
  }

  rulesFor(user: UserInfo, namespace: string): ReturnType<NonNullable<Authorizer['rulesFor']>> {
    return this.#current.rulesFor?.(user, namespace) ?? { resourceRules: [], nonResourceRules: [], incomplete: true };
  }

  /** True if nodes are authorized by their pods. */
  get hasNodes(): boolean {
    return this.#required.has('Node');
  }

  families(): readonly MetricFamily[] {
    return [...this.#metrics.families(), ...(this.#reloads?.families() ?? [])];
  }

  async close(): Promise<void> {
    this.#file?.close();
    this.#maker.close();
    await this.#reader.close();
  }

  /** Resolves to false for a file whose content means the same as before. */
  async #apply(checked: CheckedAuthorizers): Promise<boolean> {
    if (await runInTurns(sameAuthorizers(checked.authorizers, this.#loaded))) return false;
    const next = await this.#maker.make(checked);
    if (this.#file?.isClosed === true) return false;
    this.#current = next;
    this.#loaded = checked.authorizers;
    return true;
  }
}

interface AuthorizersParts {
  readonly loaded: Loaded;
  readonly first: Authorizer;
  readonly maker: AuthorizerMaker;
  readonly metrics: AuthorizationMetrics;
  readonly file: FollowedAuthorizers | undefined;
}

interface FollowedAuthorizers {
  readonly followed: FollowedFile;
  readonly reloads: ReloadMetrics;
}

function followed(
  path: string,
  text: string,
  { server: serverId, clock, logger }: ConfiguredAuthorizersPorts,
): FollowedAuthorizers {
  const read = (): Promise<string> => readText(path);
  const metrics = new ReloadMetrics({ what: 'authorization', serverId, clock, hash: contentHash(text) });
  const what = 'authorization configuration';
  return { followed: new FollowedFile({ what, metrics, pollMs, read, text, clock, logger }), reloads: metrics };
}

async function readText(file: string): Promise<string> {
  try {
    return await readLimitedFile(file, maxConfigurationBytes);
  } catch (error) {
    throw new Error(goFileError(error, 'open', file), { cause: error });
  }
}

async function load(file: string, required: ReadonlySet<string>): Promise<Loaded> {
  const text = await readText(file);
  return { text, checked: await check(parseAuthorizationConfiguration(text), required) };
}

async function check(
  authorizers: readonly AuthorizerConfiguration[],
  required: ReadonlySet<string>,
): Promise<CheckedAuthorizers> {
  const faults = await faultsOfFiles(authorizers.map(({ webhook }) => webhook?.connection.kubeConfigFile));
  const faultOfFile = (path: string): string | undefined => faults.get(path);
  return runInTurns(checkAuthorizers(authorizers, { types: authorizationModes, faultOfFile, required }));
}

async function faultsOfFiles(paths: readonly (string | undefined)[]): Promise<ReadonlyMap<string, string>> {
  const faults = new Map<string, string>();
  for (const path of paths) {
    if (path === undefined || path === '') continue;
    try {
      if (!(await stat(path)).isFile()) faults.set(path, 'must be a regular file');
    } catch (error) {
      faults.set(path, `error loading file: ${goFileError(error, 'stat', path)}`);
    }
  }
  return faults;
}
