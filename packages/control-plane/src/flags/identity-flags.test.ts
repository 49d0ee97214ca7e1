import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StartError } from '../lifetime/start-error.ts';
import { identityFlagWarnings, identityOptions } from './identity-flags.ts';
import { parseServeFlags } from './serve-flags.ts';

const oidc = ['--oidc-issuer-url=https://a', '--oidc-client-id=c'];

describe('the flags of outside identity', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kapstan-identity-'));
  });
  afterAll(() => rm(directory, { recursive: true }));

  it.each([
    [
      ['--oidc-issuer-url=https://a'],
      'oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set',
    ],
    [
      ['--oidc-client-id=c'],
      'oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set',
    ],
    [
      ['--oidc-username-claim=sub'],
      'oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set',
    ],
    [['--authentication-config=f', ...oidc], 'authentication-config file and oidc-* flags are mutually exclusive'],
    [
      ['--authentication-config=f', '--oidc-signing-algs=RS256'],
      'authentication-config file and oidc-* flags are mutually exclusive',
    ],
    [['--oidc-required-claim=a'], 'invalid value "a" for --oidc-required-claim: malformed pair, expect string=string'],
  ])('%j is refused in the words of kube-apiserver', (args, message) => {
    expect(() => parseServeFlags(args)).toThrow(message);
  });

  it('become one issuer', async () => {
    const ca = join(directory, 'ca.pem');
    await writeFile(ca, 'PEM');
    const more = [
      '--oidc-username-claim=email',
      '--oidc-username-prefix=-',
      '--oidc-groups-claim=g',
      '--oidc-groups-prefix=p:',
    ];
    const rules = ['--oidc-required-claim=a=b,c', '--oidc-required-claim= hd =x=y', '--oidc-signing-algs=RS256,ES256'];
    const { oidc: made } = await identityOptions(parseServeFlags([...oidc, `--oidc-ca-file=${ca}`, ...more, ...rules]));
    expect(made).toEqual({
      issuerUrl: 'https://a',
      clientId: 'c',
      ca: 'PEM',
      usernameClaim: 'email',
      usernamePrefix: '-',
      groupsClaim: 'g',
      groupsPrefix: 'p:',
      signingAlgorithms: ['RS256', 'ES256'],
      requiredClaims: new Map([
        ['a', 'b,c'],
        ['hd', 'x=y'],
      ]),
    });
  });

  it('name the file that cannot be read', async () => {
    const flags = parseServeFlags([...oidc, `--oidc-ca-file=${join(directory, 'none')}`]);
    await expect(identityOptions(flags)).rejects.toThrow(StartError);
    await expect(identityOptions(flags)).rejects.toThrow('--oidc-ca-file: ENOENT');
  });

  it('say whether --anonymous-auth is given, because the configuration file may then not say it', async () => {
    const isDecided = async (args: string[]) => (await identityOptions(parseServeFlags(args))).isAnonymousDecided;
    expect([
      await isDecided([]),
      await isDecided(['--anonymous-auth']),
      await isDecided(['--anonymous-auth=false']),
    ]).toEqual([false, true, true]);
  });

  it('make settings of a webhook, and warn of answers that are cached for too short a time', async () => {
    const file = '--authentication-token-webhook-config-file=k';
    const { tokenWebhook } = await identityOptions(parseServeFlags([file]));
    expect(tokenWebhook).toEqual({ kubeconfig: 'k', version: 'v1beta1', cacheTtlMs: 120_000 });
    expect((await identityOptions(parseServeFlags([]))).tokenWebhook).toBeUndefined();
    const ttl = '--authentication-token-webhook-cache-ttl';
    expect(identityFlagWarnings(parseServeFlags([file, `${ttl}=5s`]))).toEqual([
      'the webhook cache ttl of 5s is shorter than the overall cache ttl of 10s for successful token authentication attempts.',
    ]);
    expect(identityFlagWarnings(parseServeFlags([file, `${ttl}=10s`]))).toEqual([]);
    expect(identityFlagWarnings(parseServeFlags([file, `${ttl}=0s`]))).toEqual([]);
  });
});
