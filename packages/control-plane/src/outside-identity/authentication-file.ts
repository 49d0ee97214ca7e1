// Opens the file of --authentication-config and follows it: a change counts within a minute, and one with errors changes nothing.
// Opened by outside-identity.ts. Source: options/authentication.go (ApplyTo).
import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { messageOf } from '@kapstan/api/internal';
import { type AuthenticationConfiguration, parseAuthenticationConfiguration } from '@kapstan/apiserver';
import { FollowedFile, type FollowedFilePorts } from '../followed-file/followed-file.ts';
import { contentHash, ReloadMetrics } from '../followed-file/reload-metrics.ts';

export interface AuthenticationFilePorts extends FollowedFilePorts {
  readonly path: string;
}

/** Puts a configuration to use. Rejects when it cannot be used. */
export type ApplyConfiguration = (configuration: AuthenticationConfiguration, timeoutMs: number) => Promise<void>;

const pollMs = 60_000;
/** How long new issuers may take to answer. */
const applyMs = 60_000;
/** Larger files are refused: YAML of this size takes a second to read. */
const maxBytes = 1024 * 1024;

export class AuthenticationFile {
  /** The configuration at the start. */
  readonly configuration: AuthenticationConfiguration;
  readonly metrics: ReloadMetrics;
  readonly #file: FollowedFile;

  /** Rejects when the file cannot be read or is no configuration. */
  static async open({ path, ...ports }: AuthenticationFilePorts): Promise<AuthenticationFile> {
    const read = (): Promise<string> => readText(path);
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

  close(): void {
    this.#file.close();
  }

  #parse(text: string): AuthenticationConfiguration {
    const configuration = parseAuthenticationConfiguration(text);
    if (isDeepStrictEqual(configuration.anonymous, this.configuration.anonymous)) return configuration;
    throw new Error('anonymous: Forbidden: changed from initial configuration file');
  }
}

async function readText(path: string): Promise<string> {
  const bytes = await readFile(path);
  if (bytes.length > maxBytes) throw new Error(`the file is larger than ${maxBytes} bytes`);
  return bytes.toString('utf8');
}
