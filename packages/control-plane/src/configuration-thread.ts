// The thread that parses large configuration files, so that nobody waits while one changes. Started, fed and ended by
// configuration-reader.ts.
import { parentPort } from 'node:worker_threads';
import { messageOf } from '@kapstan/api/internal';
import { parseAuthenticationConfiguration, parseAuthorizationConfiguration } from '@kapstan/apiserver';
import { parseEncryptionConfiguration } from './encryption-config/configuration.ts';
import type { ConfigurationAnswer, ConfigurationJob } from './followed-file/configuration-reader.ts';

const parsers = {
  authentication: parseAuthenticationConfiguration,
  authorization: parseAuthorizationConfiguration,
  encryption: parseEncryptionConfiguration,
} as const satisfies Record<ConfigurationJob['kind'], (text: string) => unknown>;

function answer({ kind, text }: ConfigurationJob): ConfigurationAnswer {
  try {
    return { value: parsers[kind](text) };
  } catch (error) {
    return { problem: messageOf(error) };
  }
}

parentPort?.on('message', (job: ConfigurationJob) => parentPort?.postMessage(answer(job)));
