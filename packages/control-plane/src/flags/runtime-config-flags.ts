// --runtime-config: which built-in APIs are served. Read by serve-flags.ts; kubernetes/src/builtin/api-enablement.ts interprets it.
import { ApiEnablement, type RuntimeConfig } from '@kapstan/kubernetes';
import type { Flag } from './flag-set.ts';

export interface RuntimeConfigFlags {
  readonly 'runtime-config': RuntimeConfig;
}

export const runtimeConfigFlags: { readonly [K in keyof RuntimeConfigFlags]: Flag<RuntimeConfigFlags[K]> } = {
  'runtime-config': {
    parse: (text) => {
      const config = parseRuntimeConfig(text);
      new ApiEnablement(config);
      return config;
    },
    default: new Map(),
    help: 'A set of key=value pairs that turn built-in APIs on or off. Keys are v1, group/version, group/version/resource, api/all, api/ga, api/beta and api/alpha; values are true or false.',
    shown: '',
    format: (config) =>
      [...config]
        .map(([key, value]) => `${key}=${value}`)
        .sort()
        .join(','),
    separator: ',',
  },
};

/** Parses "a=b,c": the last of several settings of one key counts; without "=" the value is "". Source: component-base ConfigurationMap. */
function parseRuntimeConfig(text: string): RuntimeConfig {
  const config = new Map<string, string>();
  for (const item of text.split(',')) {
    if (item === '') continue;
    const at = item.indexOf('=');
    const [key, value] = at < 0 ? [item, ''] : [item.slice(0, at), item.slice(at + 1)];
    config.set(key.trim(), value.trim());
  }
  return config;
}
