import { describe, expect, it } from 'vitest';
import { parseServeFlags } from './serve-flags.ts';

describe('parseServeFlags', () => {
  it('has the defaults of the documentation', () => {
    const flags = parseServeFlags([]);
    expect(flags).toMatchObject({
      'bind-address': '127.0.0.1',
      'secure-port': 6443,
      'data-dir': '.kapstan',
      'storage-backend': 'default',
      'etcd-servers': [],
      'etcd-compaction-interval': 300_000,
      'watch-cache': true,
      'default-watch-cache-size': 100,
      'control-loops': ['*'],
      'event-ttl': 3_600_000,
    });
  });

  it('reads values after = and after a space, and booleans bare or with a value', () => {
    const flags = parseServeFlags([
      '--secure-port',
      '0',
      '--data-dir=/x',
      '--watch-cache=false',
      '--anonymous-auth',
      '--event-ttl=1h30m',
    ]);
    expect(flags['secure-port']).toBe(0);
    expect(flags['data-dir']).toBe('/x');
    expect(flags['watch-cache']).toBe(false);
    expect(flags['anonymous-auth']).toBe(true);
    expect(flags['event-ttl']).toBe(5_400_000);
  });

  it('takes the garbage collector off with the finalizers that it would have to remove', () => {
    const flags = parseServeFlags(['--enable-garbage-collector=false']);
    expect(flags['enable-garbage-collector']).toBe(false);
    expect(flags['control-loops']).toEqual(['*']);
  });

  it('reads watch cache sizes by group resource', () => {
    const flags = parseServeFlags(['--watch-cache-sizes=pods#1000,deployments.apps#0']);
    expect([...flags['watch-cache-sizes']]).toEqual([
      ['pods', 1000],
      ['deployments.apps', 0],
    ]);
  });

  const refused: readonly (readonly [string[], string])[] = [
    [['--no-such-flag'], 'unknown flag: --no-such-flag'],
    [['--no-such-flag=1'], 'unknown flag: --no-such-flag'],
    [['pods'], 'unexpected argument: pods'],
    [
      ['--control-loops=namespace,deployment'],
      'invalid value "namespace,deployment" for --control-loops: "deployment" is not in the list of known controllers',
    ],
    [
      ['--control-loops=garbagecollector', '--enable-garbage-collector=false'],
      'invalid value "garbagecollector" for --control-loops: "garbage-collector-controller" cannot run where the garbage collector is disabled',
    ],
    [['--data-dir'], 'flag needs an argument: --data-dir'],
    [['--secure-port=70000'], 'invalid value "70000" for --secure-port: must be a whole number from 0 to 65535'],
    [['--secure-port=x'], 'invalid value "x" for --secure-port: must be a whole number from 0 to 65535'],
    [['--watch-cache=maybe'], 'invalid value "maybe" for --watch-cache: must be true or false'],
    [
      ['--storage-backend=etcd2'],
      'invalid value "etcd2" for --storage-backend: etcd2 is no longer a supported storage backend',
    ],
    [['--storage-backend=foo'], 'invalid value "foo" for --storage-backend: unknown storage type: foo'],
    [
      ['--watch-cache-sizes=pods'],
      'invalid value "pods" for --watch-cache-sizes: invalid value of watch cache size: pods',
    ],
    [
      ['--watch-cache-sizes=pods#-1'],
      'invalid value "pods#-1" for --watch-cache-sizes: watch cache size cannot be negative: pods#-1',
    ],
    [['--event-ttl=soon'], 'invalid value "soon" for --event-ttl: must be a duration such as 90s or 1h30m'],
    [
      ['--authorization-mode=RBAC'],
      'invalid value "RBAC" for --authorization-mode: authorization mode RBAC is not supported by this version of kapstan',
    ],
    [['--audit-log-path=/x'], '--audit-log-path is not supported by this version of kapstan'],
    [
      ['--encryption-provider-config-automatic-reload'],
      '--encryption-provider-config-automatic-reload must be set with --encryption-provider-config',
    ],
    [
      ['--storage-initialization-timeout=-1s'],
      'invalid value "-1s" for --storage-initialization-timeout: must be a duration such as 90s or 1h30m',
    ],
    [['--tls-cert-file=a.crt'], '--tls-cert-file and --tls-private-key-file must be given together'],
    [['--data-dir='], 'invalid value "" for --data-dir: must not be empty'],
  ];
  for (const [args, message] of refused) {
    it(`refuses ${args.join(' ')}, naming the flag`, () => {
      expect(() => parseServeFlags(args)).toThrow(message);
    });
  }
});
