// Opens the file of --authentication-config and follows it: a change counts within a minute, and one with errors changes nothing.
// Opened by outside-identity.ts. Source: options/authentication.go (ApplyTo).
import { isDeepStrictEqual } from 'node:util';
import { messageOf } from '@kapstan/api/internal';
import { type AuthenticationConfiguration, parseAuthenticationConfiguration } from '@kapstan/apiserver';
import { ConfigurationReader } from '../followed-file/configuration-reader.ts';
import { FollowedFile, type FollowedFilePorts } from '../followed-file/followed-file.ts';
import { maxConfigurationBytes, readLimitedFile } from '../followed-file/limited-file.ts';
import { contentHash, ReloadMetrics } from '../followed-file/reload-metrics.ts';

export interface AuthenticationFilePorts extends FollowedFilePorts {
  readonly path: string;
}

/** Puts a configuration to use. Rejects when it cannot be used. */
export type ApplyConfiguration = (configuration: AuthenticationConfiguration, timeoutMs: number) => Promise<void>;

const pollMs = 60_000;
/** Time limit for new issuers to answer. */
const applyMs = 60_000;

export class AuthenticationFile {
  /** The configuration at the start. */
  readonly configuration: AuthenticationConfiguration;
  readonly metrics: ReloadMetrics;
  readonly #file: FollowedFile;
  readonly #reader = new ConfigurationReader('authentication', parseAuthenticationConfiguration);

  /** Rejects when the file cannot be read or is not a configuration. */
  static async open({ path, ...ports }: AuthenticationFilePorts): Promise<AuthenticationFile> {
    const read = (): Promise<string> => readLimitedFile(path, maxConfigurationBytes);
    try {
      const text = await read();
      const configuration = parseAuthenticationConfiguration(text);
      const metrics = new ReloadMetrics({ ...ports, what: 'authentication', hash: contentHash(text) });
      const what = 'authentication configuration';
      const file = new FollowedFile({ ...ports, what, metrics, pollMs, read, text });
      return new AuthenticationFile(file, configuration, metrics);
    } catch (error) {
      const what = `failed to load authentication configuration from file ${JSON.stringify(path)}`;
      throw new Error(`${what}: ${messageOf(error)}`, { cause: error });
    }
  }

  private constructor(file: FollowedFile, configuration: AuthenticationConfiguration, metrics: ReloadMetrics) {
    this.#file = file;
    this.metrics = metrics;
    this.configuration = configuration;
  }

  /** Begins to look at the file once a minute. */
  follow(apply: ApplyConfiguration): void {
    this.#file.follow({
      parse: (text) => this.#parse(text),
      apply: async (configuration) => {
        await apply(configuration, applyMs);
        return true;
      },
    });
  }

  async close(): Promise<void> {
    this.#file.close();
    await this.#reader.close();
  }

  async #parse(text: string): Promise<AuthenticationConfiguration> {
    const configuration = await this.#reader.read(text);
    if (isDeepStrictEqual(configuration.anonymous, this.configuration.anonymous)) return configuration;
    throw new Error('anonymous: Forbidden: changed from initial configuration file');
  }
}
