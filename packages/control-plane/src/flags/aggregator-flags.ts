// The aggregator's flags of `kapstan serve`, under kube-apiserver's names. Part of serve-flags.ts; serve.ts turns them into options.
import { readFile } from 'node:fs/promises';
import { startingWith } from '../lifetime/start-error.ts';
import type { ControlPlaneOptions } from '../options/control-plane-options.ts';
import { booleanFlag, type Flag, listFlag, stringFlag } from './flag-set.ts';

export interface AggregatorFlags {
  readonly 'proxy-client-cert-file': string;
  readonly 'proxy-client-key-file': string;
  readonly 'requestheader-client-ca-file': string;
  readonly 'requestheader-allowed-names': readonly string[];
  readonly 'requestheader-username-headers': readonly string[];
  readonly 'requestheader-uid-headers': readonly string[];
  readonly 'requestheader-group-headers': readonly string[];
  readonly 'requestheader-extra-headers-prefix': readonly string[];
  readonly 'enable-aggregator-routing': boolean;
  readonly 'aggregator-reject-forwarding-redirect': boolean;
}

export const aggregatorFlags: { readonly [K in keyof AggregatorFlags]: Flag<AggregatorFlags[K]> } = {
  'proxy-client-cert-file': stringFlag(
    'Path to the client certificate that proves to aggregated API servers that requests come from this server, used instead of the generated one. Requires --proxy-client-key-file.',
  ),
  'proxy-client-key-file': stringFlag('Path to the private key that matches --proxy-client-cert-file.'),
  'requestheader-client-ca-file': stringFlag(
    'Certificate authority file used to verify client certificates before trusting user names in headers, used instead of the generated one.',
  ),
  'requestheader-allowed-names': listFlag(
    'Common names of client certificates that may provide user names in headers. If empty, any client certificate validated by --requestheader-client-ca-file is allowed.',
  ),
  'requestheader-username-headers': listFlag('Request headers to inspect for user names.', ['X-Remote-User']),
  'requestheader-uid-headers': listFlag('Request headers to inspect for UIDs.', ['X-Remote-Uid']),
  'requestheader-group-headers': listFlag('Request headers to inspect for groups.', ['X-Remote-Group']),
  'requestheader-extra-headers-prefix': listFlag(
    'Prefixes of request headers to inspect for further attributes of users.',
    ['X-Remote-Extra-'],
  ),
  'enable-aggregator-routing': booleanFlag(
    'Route requests to aggregated API servers and webhooks only to endpoints of their services. If false, cluster addresses and external names are tried where there are no endpoints.',
    false,
  ),
  'aggregator-reject-forwarding-redirect': booleanFlag(
    'Answer 502 when an aggregated API server redirects a request. If false, the redirect is passed on to the client.',
    true,
  ),
};

const headerLists = [
  'requestheader-username-headers',
  'requestheader-group-headers',
  'requestheader-extra-headers-prefix',
  'requestheader-allowed-names',
  'requestheader-uid-headers',
] as const;

/** Source: RequestHeaderAuthenticationOptions.Validate, kube-aggregator's Validate, whose texts these are. */
export function aggregatorFlagErrors(flags: AggregatorFlags): readonly string[] {
  const blank = headerLists.filter((name) => flags[name].some((value) => value.trim() === ''));
  const errors = blank.map((name) => `empty value in ${JSON.stringify(name)}`);
  const uids = flags['requestheader-uid-headers'];
  if (uids.length > 0 && !has(uids, 'X-Remote-Uid')) {
    errors.push(
      '--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header - API aggregation will not work',
    );
  }
  if ((flags['proxy-client-cert-file'] === '') !== (flags['proxy-client-key-file'] === '')) {
    errors.push('proxy-client-cert-file and proxy-client-key-file must be specified together');
  }
  return errors;
}

/** Source: RequestHeaderAuthenticationOptions.Validate. */
export function aggregatorFlagWarnings(flags: AggregatorFlags): readonly string[] {
  const standard = [
    ['requestheader-username-headers', 'X-Remote-User', 'header'],
    ['requestheader-group-headers', 'X-Remote-Group', 'header'],
    ['requestheader-extra-headers-prefix', 'X-Remote-Extra-', 'header prefix'],
  ] as const;
  return standard
    .filter(([name, header]) => flags[name].length > 0 && !has(flags[name], header))
    .map(
      ([name, header, what]) =>
        `--${name} is set without specifying the standard ${header} ${what} - API aggregation will not work`,
    );
}

function has(names: readonly string[], wanted: string): boolean {
  return names.some((name) => name.toLowerCase() === wanted.toLowerCase());
}

/** Reads the files; rejects when one cannot be read. */
export async function aggregatorOptions(
  flags: AggregatorFlags,
): Promise<Pick<ControlPlaneOptions, 'frontProxy' | 'aggregation'>> {
  const read = async (name: keyof AggregatorFlags): Promise<string | undefined> => {
    const file = String(flags[name]);
    return file === '' ? undefined : await startingWith(`--${name}`, () => readFile(file, 'utf8'));
  };
  const cert = await read('proxy-client-cert-file');
  const key = await read('proxy-client-key-file');
  return {
    frontProxy: {
      clientCa: await read('requestheader-client-ca-file'),
      client: cert === undefined || key === undefined ? undefined : { cert, key },
      allowedNames: flags['requestheader-allowed-names'],
      usernameHeaders: flags['requestheader-username-headers'],
      uidHeaders: flags['requestheader-uid-headers'],
      groupHeaders: flags['requestheader-group-headers'],
      extraHeaderPrefixes: flags['requestheader-extra-headers-prefix'],
    },
    aggregation: {
      endpointsOnly: flags['enable-aggregator-routing'],
      rejectsRedirects: flags['aggregator-reject-forwarding-redirect'],
    },
  };
}
