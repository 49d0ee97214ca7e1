import { selfSigned } from '@kapstan/apiserver/testing';
import { describe, expect, it } from 'vitest';
import { refuseSharedAuthority } from './front-proxy.ts';

describe('an authority of front proxies', () => {
  it('may sign certificates of clients only where the names of front proxies are listed', async () => {
    const { cert: shared } = await selfSigned('CN=shared');
    const { cert: other } = await selfSigned('CN=other');
    const text =
      'frontProxy.clientCa: --requestheader-client-ca-file and --client-ca-file contain overlapping certificates; --requestheader-allowed-names must be specified';
    expect(() => refuseSharedAuthority({ clientCa: `${other}${shared}` }, [shared])).toThrow(text);
    expect(() => refuseSharedAuthority({ clientCa: shared, allowedNames: ['proxy'] }, [shared])).not.toThrow();
    expect(() => refuseSharedAuthority({ clientCa: other }, [shared])).not.toThrow();
    expect(() => refuseSharedAuthority({}, [shared])).not.toThrow();
  });
});
